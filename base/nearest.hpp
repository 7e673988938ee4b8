// "Did you mean ...?": the nearest of some words by edit distance.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Damerau-Levenshtein distance in its restricted form (optimal string alignment): insertions, deletions,
/// substitutions and swaps of neighbors, each at cost 1, no part edited twice. Source: Damerau 1964; Oommen
/// and Loke 1997. Counts bytes. O(|a| |b|) time; words longer than 256 bytes count as being infinitely far
/// from all others.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The largest distance at which a word is still taken for a slip of the pen: a third of its length, at least
/// 1, at most 3.
std::size_t slip_distance(std::string_view word);

/// The candidate nearest to `word`, letters' case ignored, within slip_distance; the first of equals. Empty:
/// none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// As nearest(), without the cut-off: empty only when there is no candidate.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// The path nearest to a dotted path. The last part must be near; paths in the same table win over paths in
/// tables of similar name, and those over a table far away, which counts only where the last part is the very
/// same.
std::string nearest_path(std::string_view path, const std::vector<std::string>& candidates);

}  // namespace muster
