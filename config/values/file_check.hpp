// Whether a path names a file that can be read, and if not, which name was perhaps meant. Looks at the file
// system.
#pragma once

#include <string>

namespace muster {

struct FileProblem {
  std::string why;  ///< "no such file", "a folder, not a file", "permission denied"; empty: nothing is wrong
  std::string nearest;  ///< a file of similar name in the same folder; may be empty
};

/// A relative path is taken from the current folder. Links are followed. Nothing is thrown.
FileProblem check_file(const std::string& path);

/// Why no file can be made in this folder, or why the folder itself cannot be made, for people; empty: both
/// can, as far as permissions tell. What may pass (a disk that is full) is not looked for.
std::string why_no_folder(const std::string& path);

}  // namespace muster
