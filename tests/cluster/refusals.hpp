// A job that is refused before anything starts: with these words, exit code 2, and no process.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cluster/muster_process.hpp"

namespace muster::cluster_test {

inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in:\n" << text;
}

/// `run` and `plan` refuse this job with these words.
inline void expect_refused(const Folder& folder, const std::string& text,
                           const std::vector<std::string>& parts, const Arguments& more = {}) {
  const std::string file = folder.write("job.toml", text);
  std::string said;
  for (const char* command : {"run", "plan"}) {
    Arguments arguments{command, file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_muster(arguments);
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_EQ(outcome.out, "") << command;
    expect_parts(outcome.err, parts);
    if (said.empty()) said = outcome.err;
    EXPECT_EQ(outcome.err, said) << "plan says something else than run";
  }
}

}  // namespace muster::cluster_test
