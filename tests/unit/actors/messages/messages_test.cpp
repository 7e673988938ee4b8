// Every message that leaves its process, through CAF's serializer and back: no field is lost.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include <caf/all.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include "actors/events/event.hpp"
#include "actors/messages/messages.hpp"
#include "muster/run.hpp"
#include "tests/support/random_values.hpp"

namespace muster {
namespace {

using oracle::RandomValues;

// ---- any message: filled with numbers that differ, compared field by field

template <class T>
concept HasFields = requires(T& x) {
  T::fields(x);
};

template <class T>
void fill(T& value, RandomValues& random);

template <class T>
void fill(std::vector<T>& values, RandomValues& random) {
  values.resize(1 + random.below(3));
  for (T& value : values) fill(value, random);
}

template <class T>
void fill(std::set<T>& values, RandomValues& random) {
  for (std::uint64_t count = 1 + random.below(3); count > 0; --count) {
    T value{};
    fill(value, random);
    values.insert(value);
  }
}

template <class T>
void fill(T& value, RandomValues& random) {
  if constexpr (HasFields<T>) {
    std::apply([&](auto&... field) { (fill(field, random), ...); }, T::fields(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = "text " + std::to_string(random.below(1'000'000));
  } else if constexpr (std::is_same_v<T, bool>) {
    value = true;
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(random.value()) + T(0.5);
  } else if constexpr (std::is_same_v<T, Event>) {
    value = make_event("failed", {{"reason", "because " + std::to_string(random.below(99))}});
    value.time_ms = 12.5;
  } else {
    value = static_cast<T>(1 + random.below(100));
  }
}

template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (HasFields<T>) {
    auto fields_a = T::fields(const_cast<T&>(a));
    auto fields_b = T::fields(const_cast<T&>(b));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same(std::get<I>(fields_a), std::get<I>(fields_b)) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(fields_a)>>());
  } else {
    return a == b;
  }
}

// ---- members of an aggregate, counted by the compiler: `fields` must name them all

struct Anything {
  template <class T>
  operator T() const;
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires {
    T{(static_cast<void>(I), Anything{})...};
  };
}

template <class T, std::size_t N = 0>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<N + 1>())) {
    return member_count<T, N + 1>();
  } else {
    return N;
  }
}

template <class T>
class Message : public ::testing::Test {};

using RemoteMessages =
    ::testing::Types<NodeName, Join, Welcome, DataFacts, Prepared, Member, View, Install, Installed, Begin,
                     Raised, Progress, EpochEnd, PhaseTimes, Sent, Traffic, ReplicaDone, Heartbeat, Failing,
                     ChildEnded, StopRequest, Stop, Tick, StatusRequest, NodeStatus, RunStatus>;
TYPED_TEST_SUITE(Message, RemoteMessages);

TYPED_TEST(Message, NamesAllItsFields) {
  TypeParam message;
  EXPECT_EQ(std::tuple_size_v<decltype(TypeParam::fields(message))>, member_count<TypeParam>());
}

TYPED_TEST(Message, SurvivesTheWire) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.policy", caf::atom("testing"));  // no threads of CAF: nothing for TSan to misjudge
  caf::actor_system system(config);
  RandomValues random(77);
  for (int turn = 0; turn < 20; ++turn) {
    TypeParam sent;
    fill(sent, random);
    std::vector<char> buffer;
    caf::binary_serializer sink(system, buffer);
    caf::message packed = caf::make_message(sent);
    ASSERT_FALSE(sink(packed));
    caf::binary_deserializer source(system, buffer);
    caf::message unpacked;
    ASSERT_FALSE(source(unpacked));
    EXPECT_EQ(source.remaining(), 0u);
    ASSERT_TRUE((unpacked.match_elements<TypeParam>()));
    EXPECT_TRUE(same(unpacked.get_as<TypeParam>(0), sent));
  }
}

TEST(EventMessage, SurvivesTheWire) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.policy", caf::atom("testing"));  // no threads of CAF: nothing for TSan to misjudge
  caf::actor_system system(config);
  Event sent = make_event("epoch", {{"epoch", std::int64_t{2}},
                                    {"complete", true},
                                    {"steps", std::int64_t{-1}},
                                    {"samples", std::int64_t{7}},
                                    {"loss", 0.125},
                                    {"used", std::int64_t{1} << 60},
                                    {"repeated", std::int64_t{0}},
                                    {"missed", std::int64_t{0}},
                                    {"dropped", std::int64_t{0}}});
  sent.time_ms = 0.125;
  std::vector<char> buffer;
  caf::binary_serializer sink(system, buffer);
  ASSERT_FALSE(sink(sent));
  Event received;
  caf::binary_deserializer source(system, buffer);
  ASSERT_FALSE(source(received));
  EXPECT_EQ(received, sent);
}

// CAF's own way with numbers never ends for the infinite ones: a loss that grows beyond all bounds would have
// stopped the node.
TEST(ProgressMessage, CarriesEveryNumberAsItIs) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.policy", caf::atom("testing"));  // no threads of CAF: nothing for TSan to misjudge
  caf::actor_system system(config);
  using Limits = std::numeric_limits<double>;
  for (const double loss : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -0.0,
                            Limits::denorm_min(), Limits::max(), 0.1}) {
    std::vector<char> buffer;
    caf::binary_serializer sink(system, buffer);
    Progress sent{1, 2, 3, loss};
    ASSERT_FALSE(sink(sent));
    Progress received;
    caf::binary_deserializer source(system, buffer);
    ASSERT_FALSE(source(received));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(received.loss), std::bit_cast<std::uint64_t>(loss)) << loss;
  }
}

TEST(EpochEndMessage, IsComparedWithoutWhoSaysIt) {
  RandomValues random(78);
  EpochEnd one;
  fill(one, random);
  EpochEnd other = one;
  other.slot = one.slot + 1;
  EXPECT_TRUE(one.same_as(other));
  one.train_loss = other.train_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(one.same_as(other));
  other.missed += 1;
  EXPECT_FALSE(one.same_as(other));
}

}  // namespace
}  // namespace muster
