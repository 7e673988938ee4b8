#include "actors/replica/duties/state_receiver.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::state_receiver_test {
namespace {

using testing::DutyContext;
using testing::last_as;

constexpr PeerId kDonor = 0;

std::shared_ptr<const std::vector<std::byte>> encoded_evaluation() {
  RoundRecord record;
  record.kind = RoundKind::evaluate;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  encode_record(record, {}, *bytes);
  return bytes;
}

TransferIn record_in(std::uint64_t number, std::shared_ptr<const std::vector<std::byte>> payload) {
  TransferIn message;
  message.view = 5;
  message.from = kDonor;
  message.number = number;
  message.payload = std::move(payload);
  return message;
}

struct Receiving : DutyContext {
  StateReceiver receiver{context};

  void give_state() {
    TransferIn state = record_in(0, std::make_shared<const std::vector<std::byte>>());
    state.kind = FrameKind::state;
    EXPECT_FALSE(receiver.take(state));
  }
};

TEST(StateReceiver, ANewcomerAppliesTheStateOnceAndThenEachRecord) {
  Receiving replica;
  replica.receiver.observe(kDonor);
  replica.give_state();
  replica.give_state();
  EXPECT_EQ(replica.jobs->size(), 1u) << "one state is enough";
  ASSERT_TRUE(replica.receiver.take(record_in(1, encoded_evaluation())));
  EXPECT_FALSE(replica.receiver.next().record) << "the state is not in place";
  replica.receiver.state_is_in_place();
  const StateReceiver::Next next = replica.receiver.next();
  ASSERT_TRUE(next.record);
  EXPECT_EQ(next.record->kind, RoundKind::evaluate);
  replica.take_records(1);
  EXPECT_FALSE(replica.receiver.next().goes_on) << "a newcomer waits for the next view";
  const auto* taken = last_as<TransferOut>(replica.sent.reducer);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->kind, FrameKind::taken);
  EXPECT_EQ(taken->number, 1u);
  const auto* caught_up = last_as<CaughtUp>(replica.sent.node);
  ASSERT_TRUE(caught_up);
  EXPECT_EQ(caught_up->records, 1u);
}

TEST(StateReceiver, AMemberGoesOnWhenItMissesNothing) {
  Receiving replica;
  replica.view().records = 1;
  replica.receiver.join();
  EXPECT_TRUE(replica.receiver.catch_up().behind());
  EXPECT_FALSE(replica.receiver.next().goes_on);
  ASSERT_TRUE(replica.receiver.take(record_in(1, encoded_evaluation())));
  replica.context.phase.record_taken();
  EXPECT_FALSE(replica.receiver.next().record) << "one at a time";
  replica.context.phase.record_applied();
  EXPECT_TRUE(replica.receiver.next().record);
  replica.take_records(1);
  EXPECT_TRUE(replica.receiver.next().goes_on);
  EXPECT_TRUE(replica.sent.node.empty());
}

TEST(StateReceiver, ARecordThatCannotBeReadIsTrouble) {
  Receiving replica;
  replica.view().records = 1;
  replica.receiver.join();
  ASSERT_TRUE(replica.receiver.take(record_in(1, std::make_shared<const std::vector<std::byte>>(3))));
  EXPECT_FALSE(replica.receiver.next().record);
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
}

TEST(StateReceiver, MoreThanWasAskedForIsTrouble) {
  Receiving replica;
  replica.receiver.observe(kDonor);
  std::uint64_t number = 1;
  while (replica.receiver.take(record_in(number, nullptr)) && number < 100000) ++number;
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
}

}  // namespace
}  // namespace muster::state_receiver_test
