# What Doxygen reads of a public header, line by line: the comment at its top becomes the text of the file, the example in it
# becomes code, and members that a user never names are left out (comparison of all members, the fields for CAF).
{ line[NR] = $0 }
END {
  for (i = 1; i <= NR && line[i] !~ /^#pragma once/; ++i) {
    example = line[i] ~ /^\/\/   / || (in_example && line[i] == "//" && line[i + 1] ~ /^\/\/   /)
    if (line[i] == "//" && !example && line[i + 1] ~ /^\/\/   /) line[i] = "/// @code{.cpp}"
    else if (example) line[i] = "/// " substr(line[i], 6)
    else if (in_example) line[i] = "/// @endcode"
    else if (line[i] ~ /^\/\//) line[i] = "/" line[i]
    in_example = example
  }
  line[i] = in_example ? "/// @endcode @file" : "/// @file"
  for (i = 1; i <= NR; ++i) {
    if (line[i] ~ /bool operator==\(const [A-Za-z]+&\) const = default;/ || line[i] ~ /static auto fields\([A-Za-z]+& x\)/) {
      printf "/** @private */ "
    }
    print line[i]
  }
}
