#include "gpu/optimizer/powersgd.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "muster/random.hpp"

namespace muster {

namespace {

constexpr std::size_t kLanes = 16;
constexpr double kRounding = 1e-6;  // of a column's length: what is left is not a direction

// In a fixed order that a vector unit can follow: lane by lane, then the lanes.
float dot(const float* a, const float* b, std::size_t count) {
  std::array<float, kLanes> lanes{};
  const std::size_t even = count / kLanes * kLanes;
  for (std::size_t i = 0; i < even; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (std::size_t i = even; i < count; ++i) lanes[i - even] += a[i] * b[i];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

void add_scaled(float scale, const float* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

double square(std::span<const float> column) {
  double sum = 0;
  for (const float value : column) sum += static_cast<double>(value) * value;
  return sum;
}

// Takes the direction of `unit` out of `column`.
void remove(std::span<const float> unit, std::span<float> column) {
  double share = 0;
  for (std::size_t i = 0; i < unit.size(); ++i) share += static_cast<double>(unit[i]) * column[i];
  for (std::size_t i = 0; i < unit.size(); ++i) column[i] -= static_cast<float>(share) * unit[i];
}

}  // namespace

PowerSgd::PowerSgd(const Layout& layout, std::uint32_t rank) {
  for (const LayoutEntry& entry : layout.entries) {
    const bool parameter = entry.offset < layout.parameters;
    const std::size_t rows = entry.shape.size() < 2 ? 1 : static_cast<std::size_t>(entry.shape.front());
    const std::size_t columns = rows == 0 ? 0 : entry.count / rows;
    const std::size_t least = std::min({static_cast<std::size_t>(rank), rows, columns});
    if (!parameter || entry.shape.size() < 2 || (rows + columns) * least >= entry.count) {
      plain_.push_back({entry.offset, entry.count, 0});
      continue;
    }
    matrices_.push_back({entry.offset, rows, columns, least, projections_, second_});
    projections_ += rows * least;
    second_ += columns * least;
  }
  first_ = projections_;
  for (Plain& plain : plain_) {
    plain.at = first_;
    first_ += plain.count;
  }
}

void PowerSgd::begin(std::uint64_t seed, std::span<float> q) const {
  std::fill(q.begin(), q.end(), 0.0f);
  for (const Matrix& matrix : matrices_) {
    SplitMix64 random(mix(seed, matrix.offset, 0x706f776572ull));
    for (std::size_t i = 0; i < matrix.columns * matrix.rank; ++i)
      q[matrix.offset + i] = random.next_signed_unit();
  }
}

void PowerSgd::project(std::span<const float> gradient, std::span<const float> q,
                       std::span<float> first) const {
  for (const Matrix& matrix : matrices_) {
    const float* const values = gradient.data() + matrix.offset;
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      for (std::size_t k = 0; k < matrix.rank; ++k) {
        first[matrix.p + k * matrix.rows + row] =
            dot(values + row * matrix.columns, q.data() + matrix.offset + k * matrix.columns, matrix.columns);
      }
    }
  }
  for (const Plain& plain : plain_)
    std::copy_n(gradient.begin() + static_cast<std::ptrdiff_t>(plain.offset), plain.count,
                first.begin() + static_cast<std::ptrdiff_t>(plain.at));
}

void PowerSgd::orthonormalize(std::span<float> first) const {
  for (const Matrix& matrix : matrices_) {
    const auto column = [&](std::size_t k) { return first.subspan(matrix.p + k * matrix.rows, matrix.rows); };
    for (std::size_t k = 0; k < matrix.rank; ++k) {
      const double before = square(column(k));
      for (std::size_t done = 0; done < k; ++done) remove(column(done), column(k));
      const double left = square(column(k));
      const bool direction = !(left <= before * kRounding * kRounding);  // NaN is not hidden
      const float scale = direction ? static_cast<float>(1 / std::sqrt(left)) : 0.0f;
      for (float& value : column(k)) value = direction ? value * scale : 0.0f;
    }
  }
}

void PowerSgd::project_back(std::span<const float> parameters, std::span<const float> first,
                            std::span<float> second) const {
  std::fill(second.begin(), second.end(), 0.0f);
  for (const Matrix& matrix : matrices_) {
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      const float* const values = parameters.data() + matrix.offset + row * matrix.columns;
      for (std::size_t k = 0; k < matrix.rank; ++k)
        add_scaled(first[matrix.p + k * matrix.rows + row], values, matrix.columns,
                   second.data() + matrix.q + k * matrix.columns);
    }
  }
}

void PowerSgd::leave(std::span<const float> first, std::span<const float> second,
                     std::span<float> parameters) const {
  for (const Matrix& matrix : matrices_) {
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      float* const values = parameters.data() + matrix.offset + row * matrix.columns;
      for (std::size_t k = 0; k < matrix.rank; ++k)
        add_scaled(-first[matrix.p + k * matrix.rows + row], second.data() + matrix.q + k * matrix.columns,
                   matrix.columns, values);
    }
  }
  for (const Plain& plain : plain_) {
    if (plain.offset < parameters.size())
      std::fill_n(parameters.begin() + static_cast<std::ptrdiff_t>(plain.offset), plain.count, 0.0f);
  }
}

void PowerSgd::change(std::span<const float> first, std::span<const float> second,
                      std::span<float> change) const {
  for (const Matrix& matrix : matrices_) {
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      float* const values = change.data() + matrix.offset + row * matrix.columns;
      std::fill_n(values, matrix.columns, 0.0f);
      for (std::size_t k = 0; k < matrix.rank; ++k)
        add_scaled(first[matrix.p + k * matrix.rows + row], second.data() + matrix.q + k * matrix.columns,
                   matrix.columns, values);
    }
  }
  for (const Plain& plain : plain_)
    std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(plain.at), plain.count,
                change.begin() + static_cast<std::ptrdiff_t>(plain.offset));
}

void PowerSgd::keep(std::span<const float> second, std::span<float> q) const {
  for (const Matrix& matrix : matrices_)
    std::copy_n(second.begin() + static_cast<std::ptrdiff_t>(matrix.q), matrix.columns * matrix.rank,
                q.begin() + static_cast<std::ptrdiff_t>(matrix.offset));
}

}  // namespace muster
