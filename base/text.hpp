// How values and keys are written in messages and in TOML: quoted, on one line, shortest form that reads back
// the same. All functions are pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A TOML basic string: in quotes, with control characters, quotes and backslashes escaped. Never holds a
/// line break. (Not `quoted`: for a string the standard library would offer its own, with some compilers.)
std::string in_quotes(std::string_view text);

/// The text without control characters (each becomes \xNN), so that a message stays on one line and leaves
/// the terminal alone.
std::string printable(std::string_view text);

/// At most `bytes_max` bytes and "..." where more was cut; never cuts inside a UTF-8 character.
std::string shortened(std::string text, std::size_t bytes_max = 120);

/// The shortest decimal text that reads back as the same double; a TOML float, so it holds a '.', an 'e', inf
/// or nan.
std::string number_text(double number);

/// "a, b or c".
std::string any_of_text(const std::vector<std::string>& words);

/// Each word quoted.
std::vector<std::string> quoted_all(const std::vector<std::string>& words);

/// A key of a path as TOML writes it: bare where it can be, else quoted.
std::string key_text(std::string_view key);

/// With line breaks in place of spaces, so that no line is longer than `columns`, unless one word is. Line
/// breaks that are there stay. Counts bytes.
std::string wrapped(std::string_view text, std::size_t columns = 110);

/// "train.shards" -> "train"; "name" -> "".
std::string table_of(std::string_view path);

/// "train.shards" -> "shards".
std::string leaf_of(std::string_view path);

/// Joins a table's path and a key: ("train", "shards") -> "train.shards"; ("", "name") -> "name".
std::string join_path(std::string_view table, std::string_view key);

}  // namespace muster
