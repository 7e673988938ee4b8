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

}  // namespace muster
