// The `tokens` source: a text, as a file of tokens, cut into windows.
#pragma once

#include <vector>

#include "muster/options.hpp"
#include "muster/source.hpp"

namespace muster {

/// The options that make_tokens reads.
std::vector<OptionSpec> tokens_options();

/// Field: int64 [context + 1]. Sample i is tokens i * context to (i + 1) * context, both included: the last
/// token of a window is the first of the next, so that each token but the file's first is predicted exactly
/// once in an epoch. Behind the end of the file the last window holds -1, which is no token: it is neither
/// trained on nor counted. Files: see token_file.hpp; they stay on the disk. The test set is there when
/// `test` is given. Throws JobError with the key of what is wrong.
Dataset make_tokens(const Options& options);

}  // namespace muster
