// Which variant of the sums a round takes, where more than one gives the same bits. Members of one host may
// write what the others will read through the caches, or past them straight to memory; and two members may
// each add all of it up (Algorithm::one_shot) instead of a half. Which is quickest depends on where the
// system has put the processes, and changes while they run. So it is measured, again and again.
//
// One member alone cannot tell: how it writes is what it costs the others to read. So each says in its
// headers what each variant has taken it, and the next round takes the variant that took the members of a
// host the least together. All of them have the same headers, and find the same variant.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "transport/collective/rounds/round.hpp"
#include "transport/collective/sums/kernels.hpp"

namespace muster {

enum class SumVariant : std::uint8_t {
  cached,    ///< along the trees, written through the caches
  streamed,  ///< along the trees, past the caches
  one_shot,  ///< every member adds all of it up
};

/// What the members of a host have taken together, by variant; 0: some of them do not know.
class SharedTimes {
 public:
  void add(const VariantTimes& times);
  /// The first variant, unless another one took at least a tenth less: who goes on with the sums finds them
  /// in no cache, or has added up what somebody else has, too.
  SumVariant best(std::size_t variants) const;

 private:
  std::array<std::uint64_t, std::tuple_size_v<VariantTimes>> sums_{};
  std::array<bool, std::tuple_size_v<VariantTimes>> unknown_{};
};

/// Of the sums of one view. All members count the same rounds, so they try the same variant in the same
/// rounds: who writes and who reads see what it costs. One thread.
class VariantChoice {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;
  /// `variants`: how many of SumVariant are open to it, from the first one on. Without a clock it is the
  /// first.
  explicit VariantChoice(std::size_t variants = 1, Clock clock = nullptr)
      : variants_(variants), clock_(std::move(clock)) {}

  /// A round with sums begins; the one before it is over. `said`: by the members of this host, in the headers
  /// of the round before.
  void begin(const SharedTimes& said = {});
  /// This round's.
  SumVariant variant() const { return variant_; }
  kernels::Store store() const {
    return variant_ == SumVariant::streamed ? kernels::Store::streamed : kernels::Store::cached;
  }
  /// What each variant has taken this member.
  VariantTimes times() const;
  /// Around each addition, and each copy of what others have added.
  void start() { started_ = clock_ ? clock_() : std::chrono::nanoseconds{0}; }
  void stop() { moved_ += clock_ ? clock_() - started_ : std::chrono::nanoseconds{0}; }

  /// Rounds that each variant is tried for, one after the other. The last one counts: before it the lines of
  /// the result lie where another variant has left them.
  static constexpr std::uint64_t kTries = 2;
  static constexpr std::uint64_t kWarmUp = 1;    ///< turns that do not count: memory is touched first
  static constexpr std::uint64_t kFirst = 3;     ///< turns of all variants at the beginning
  static constexpr std::uint64_t kEvery = 128;   ///< rounds, of which the first ones try all variants again
  static constexpr std::size_t kRemembered = 2;  ///< the shortest of so many counts

 private:
  using Times = std::array<std::chrono::nanoseconds, kRemembered>;
  bool tries(std::uint64_t round) const;
  void remember();

  std::size_t variants_;
  Clock clock_;
  SumVariant variant_ = SumVariant::cached;
  std::uint64_t rounds_ = 0;  // that have begun
  std::chrono::nanoseconds started_{0}, moved_{0};
  std::array<Times, std::tuple_size_v<VariantTimes>> times_{};  // by variant
  std::array<std::size_t, std::tuple_size_v<VariantTimes>> tried_{};
};

}  // namespace muster
