#include "cli/scaling/cost_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.hpp"

namespace muster {
namespace {

double dot(const CostTerms& a, const CostTerms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kCostTerms; ++i) sum += a[i] * b[i];
  return sum;
}

// Solves the normal equations for the columns of `which` by elimination, the largest pivot first; nothing if
// the columns depend on each other.
std::optional<CostTerms> solve(std::array<CostTerms, kCostTerms> matrix, CostTerms right, unsigned which) {
  constexpr double kSingular = 1e-9;  // of columns of length 1
  CostTerms solution{};
  std::array<std::size_t, kCostTerms> row_of{};
  unsigned used = 0;
  for (std::size_t column = 0; column < kCostTerms; ++column) {
    if ((which >> column & 1) == 0) continue;
    std::size_t pivot = kCostTerms;
    for (std::size_t row = 0; row < kCostTerms; ++row) {
      if ((which >> row & 1) == 0 || (used >> row & 1) != 0) continue;
      if (pivot == kCostTerms || std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    }
    if (std::abs(matrix[pivot][column]) < kSingular) return std::nullopt;
    used |= 1u << pivot;
    row_of[column] = pivot;
    for (std::size_t row = 0; row < kCostTerms; ++row) {
      if (row == pivot) continue;
      const double factor = matrix[row][column] / matrix[pivot][column];
      for (std::size_t i = 0; i < kCostTerms; ++i) matrix[row][i] -= factor * matrix[pivot][i];
      right[row] -= factor * right[pivot];
    }
  }
  for (std::size_t column = 0; column < kCostTerms; ++column) {
    if ((which >> column & 1) != 0) solution[column] = right[row_of[column]] / matrix[row_of[column]][column];
  }
  return solution;
}

// The least squares of rows * solution - right among solutions that are not negative. With so few columns
// every choice of them can be tried. Columns are brought to length 1, so that pivots can be compared.
CostTerms least_squares(std::vector<CostTerms> rows, const std::vector<double>& right) {
  CostTerms lengths{};
  for (const CostTerms& row : rows) {
    for (std::size_t i = 0; i < kCostTerms; ++i) lengths[i] += row[i] * row[i];
  }
  for (double& length : lengths) length = length > 0 ? std::sqrt(length) : 1;
  std::array<CostTerms, kCostTerms> matrix{};
  CostTerms vector{};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    CostTerms& row = rows[r];
    for (std::size_t i = 0; i < kCostTerms; ++i) row[i] /= lengths[i];
    for (std::size_t i = 0; i < kCostTerms; ++i) {
      vector[i] += row[i] * right[r];
      for (std::size_t j = 0; j < kCostTerms; ++j) matrix[i][j] += row[i] * row[j];
    }
  }
  CostTerms best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned which = 1; which < 1u << kCostTerms; ++which) {
    const auto solution = solve(matrix, vector, which);
    if (!solution || *std::min_element(solution->begin(), solution->end()) < 0) continue;
    double error = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double off = dot(rows[r], *solution) - right[r];
      error += off * off;
    }
    if (error >= least) continue;
    least = error;
    best = *solution;
  }
  for (std::size_t i = 0; i < kCostTerms; ++i) best[i] /= lengths[i];
  return best;
}

}  // namespace

CostTerms terms_of(const MeasuredReduction& point, double chunk_bytes) {
  const Cluster host{point.members, point.members};
  const PhaseCost sums = sums_cost(point.algorithm, host, point.bytes, chunk_bytes);
  const PhaseCost results = results_cost(point.algorithm, host, point.bytes, chunk_bytes);
  const double reports = headers_cost(host, 1).messages + metrics_cost(host, 1).messages;
  const double busy = std::max(1.0, static_cast<double>(point.members) / point.cores);
  const double hops = sums.hops_within + results.hops_within;
  return {hops, busy > 1 ? hops : 0, busy * (sums.messages + results.messages + reports),
          busy * (2 * results.sent + sums.moved)};
}

// Gauss and Newton: near what was predicted before, log(predicted / measured) is about predicted / before - 1
// + log(before / measured), of which the least squares are known. At first, what was measured is `before`.
CostFit fit_cost(std::span<const MeasuredReduction> points, double chunk_bytes) {
  constexpr int kRounds = 50;
  MUSTER_CHECK(!points.empty());
  std::vector<double> before;
  for (const MeasuredReduction& point : points) before.push_back(point.seconds);
  CostFit fit;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<CostTerms> rows;
    std::vector<double> right;
    for (std::size_t i = 0; i < points.size(); ++i) {
      MUSTER_CHECK(points[i].seconds > 0 && before[i] > 0, points[i].seconds, before[i]);
      rows.push_back(terms_of(points[i], chunk_bytes));
      for (double& term : rows.back()) term /= before[i];
      right.push_back(1 - std::log(before[i] / points[i].seconds));
    }
    fit.seconds = least_squares(std::move(rows), right);
    for (std::size_t i = 0; i < points.size(); ++i) before[i] = predicted(fit, points[i], chunk_bytes);
  }
  double squares = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double off = std::log(before[i] / points[i].seconds);
    squares += off * off;
  }
  fit.typical_factor = std::exp(std::sqrt(squares / static_cast<double>(points.size())));
  return fit;
}

double predicted(const CostFit& fit, const MeasuredReduction& point, double chunk_bytes) {
  return dot(fit.seconds, terms_of(point, chunk_bytes));
}

CostParameters with_fit(CostParameters parameters, const CostFit& fit) {
  parameters.latency_within_s = fit.seconds[0];
  parameters.overhead_s = fit.seconds[2];
  parameters.memory_s_per_byte = fit.seconds[3];
  return parameters;
}

}  // namespace muster
