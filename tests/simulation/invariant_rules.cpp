#include "tests/simulation/invariant_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "actors/rules/watch/self_doubt.hpp"
#include "muster/report.hpp"
#include "tests/simulation/frame_text.hpp"

namespace muster::simulation {

namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

bool of_reduction(FrameKind kind) {
  return kind == FrameKind::header || kind == FrameKind::metrics || kind == FrameKind::contribution ||
         kind == FrameKind::result || kind == FrameKind::reduced || kind == FrameKind::kept ||
         kind == FrameKind::carried;
}

}  // namespace

bool is_not_finite(const RoundRecord& record) {
  return record.kind == RoundKind::train &&
         std::ranges::any_of(record.metrics, [](const ShardMetrics& of) { return !std::isfinite(of.loss); });
}

// ---- ReplicaRule

// Steps among the first so many records.
std::uint64_t ReplicaRule::steps_in(std::uint64_t records) const {
  const auto count = std::min<std::size_t>(records, oracle_->records.size());
  return count == 0 ? 0 : oracle_->records[count - 1].step;
}

Wrong ReplicaRule::compare(const RoundRecord& record, const OracleRecord& expected) const {
  const std::string which =
      "record " + text(records_) + " (epoch " + text(record.epoch) + ", step " + text(record.step) + ")";
  if (record.kind != expected.kind || record.epoch != expected.epoch)
    return {3, which + " is not the oracle's next one, of epoch " + text(expected.epoch)};
  if (expected.is_step && record.step != expected.step)
    return {3, which + " should be step " + text(expected.step)};
  if (record.kind == RoundKind::train && record.shards != expected.shards)
    return {1, which + " uses other samples than the oracle's"};
  if (record.kind == RoundKind::train && record.weight != expected.weight)
    return {3, which + " has divisor " + std::to_string(record.weight) + ", not " +
                   std::to_string(expected.weight)};
  if (record.kind == RoundKind::evaluate && record.metrics != expected.metrics)
    return {4, which + " evaluates to other numbers than the oracle's"};
  return {};
}

Wrong ReplicaRule::record(std::uint32_t view, std::uint64_t from, const RoundRecord& record) {
  if (!is_recorded(record.kind) || strays_) return {};
  if (promise_ >= view)
    return {5, "it took a record of view " + text(view) + " after its promise to take none"};
  if (view != in_) {  // its first in this view: it has what the view began with
    if (from < least() || from > most() || applied_ != steps_in(from))
      return {7, "it takes part in view " + text(view) + ", which began with " + text(from) +
                     " records, and has applied " + text(applied_) + " steps"};
    records_ = from;
    handed_ = 0;
    observes_ = false;
    in_ = view;
  }
  if (records_ >= oracle_->records.size()) return {3, "it took a record beyond the end of the job"};
  if (Wrong wrong = compare(record, oracle_->records[records_])) return wrong;
  ++records_;
  return {};
}

void ReplicaRule::observes() {
  strays_ = false;
  observes_ = true;
  promise_ = 0;
  records_ = handed_ = 0;  // what it has from an earlier donor counts no more
}

void ReplicaRule::goes_back(std::uint64_t records) {
  observes_ = true;
  unsure_ |= std::exchange(strays_, false);
  records_ = unsure_ ? records : std::min(records_, records);
}

Wrong ReplicaRule::caught_up(std::uint64_t records) {
  if (strays_) return {};
  if (!observes_) return {7, "it says that it has caught up, and is no newcomer"};
  if (steps_in(records) > applied_)
    return {
        7, "it says that it has " + text(records) + " records, and has applied " + text(applied_) + " steps"};
  records_ = records;
  return {};
}

Wrong ReplicaRule::applied(std::uint64_t step, std::span<const float> state) {
  if (strays_) return {};
  unsure_ = false;
  if (step == applied_) return {};
  if (step != applied_ + 1 && !observes_)
    return {3, "it applied step " + text(step) + " after step " + text(applied_)};
  if (promise_ > 0)
    return {5, "it applied step " + text(step) + " after it had promised to take nothing more of view " +
                   text(promise_)};
  if (observes_ && step == 0) {  // it begins again, with the state of the beginning
    applied_ = 0;
    return {};
  }
  const auto& records = oracle_->records;
  const auto found = std::find_if(records.begin(), records.end(), [&](const OracleRecord& each) {
    return each.is_step && each.step == step;
  });
  const std::uint64_t index = static_cast<std::uint64_t>(found - records.begin());
  if (found == records.end() || index >= most())
    return {3, "it applied step " + text(step) + " without its record"};
  applied_ = step;
  if (found->state != fingerprint_of(state))
    return {2, "its state after step " + text(step) + " is not the oracle's"};
  return {};
}

Wrong ReplicaRule::promised(std::uint32_t view, std::uint64_t records) {
  if (strays_ || unsure_) return {};
  if (records < least() || records > most())
    return {3, "it reports " + text(records) + " records, and holds " + text(least())};
  if (steps_in(records) != applied_)
    return {3, "it reports " + text(records) + " records, and has applied " + text(applied_) + " steps"};
  records_ = records;
  handed_ = 0;
  promise_ = view;
  return {};
}

// ---- ViewRule

std::uint64_t said_to_hold(const View& view, std::uint32_t slot) {
  for (const Behind& behind : view.behind) {
    if (behind.slot == slot) return behind.records;
  }
  return view.records;
}

bool ViewRule::goes_back(const View& view) const {
  return view.back || (in_parts_ && view.source.view == 0);
}

bool ViewRule::given_up(std::uint32_t view) const {
  return std::any_of(views_.upper_bound(view), views_.end(),
                     [this](const auto& newer) { return goes_back(newer.second); });
}

Wrong ViewRule::made(const View& view, const std::map<std::uint32_t, Holds>& holds) {
  if (!views_.empty() && view.number <= views_.rbegin()->first)
    return {6, "view " + text(view.number) + " after view " + text(views_.rbegin()->first)};
  const std::string name = "view " + text(view.number);
  std::vector<int> held(shards_, 0);
  std::uint64_t most = 0;
  bool donor = view.records == 0 || view.behind.empty();
  const bool back = goes_back(view);
  for (const Member& member : view.replicas) {
    for (std::uint32_t shard = member.begin; shard < member.end && shard < shards_; ++shard) ++held[shard];
    const auto found = holds.find(member.name.slot);
    const Holds has = found == holds.end() ? Holds{} : found->second;
    most = std::max(most, has.most);
    const std::uint64_t should = said_to_hold(view, member.name.slot);
    const bool behind = should < view.records;
    if (back) continue;
    if (has.least > view.records)
      return {3, name + " goes on from record " + text(view.records) + ", but " + member.name.text() +
                     " holds " + text(has.least) + ": a step would be done twice"};
    // A newcomer in a pause may be given what was on its way to it before it hears of the view.
    const bool is_new = member.since == view.number;
    if ((should < has.least && !is_new) || should > has.most)
      return {3, name + " takes " + member.name.text() + " to hold " + text(should) + " records; it holds " +
                     text(has.least)};
    if (!behind && member.name.slot == view.donor) donor = true;
  }
  if (most < view.records && !back) return {3, name + " goes on from records that no member holds"};
  if (!donor) return {3, name + " has no donor for those who are behind"};
  if (std::any_of(held.begin(), held.end(), [](int times) { return times != 1; }))
    return {3, name + " does not hold every shard once"};
  views_[view.number] = view;
  return {};
}

Wrong ViewRule::committed(std::uint32_t slot, std::uint32_t view, std::uint64_t index) const {
  for (auto newer = views_.upper_bound(view); newer != views_.end(); ++newer) {
    if (goes_back(newer->second)) break;  // from there on records are counted anew
    if (index <= newer->second.records) continue;
    return {6, "replica " + text(slot) + " took record " + text(index) + " in view " + text(view) +
                   ", although view " + text(newer->first) + " had gone on from record " +
                   text(newer->second.records)};
  }
  return {};
}

// ---- FrameRule

Wrong FrameRule::placed(const Frame& frame, std::span<std::byte> place, std::uint64_t incarnation) {
  if (place.empty()) return {};
  const std::string what = "a frame of view " + text(frame.view) + " from peer " + text(frame.from);
  if (frame.view < view_ || (of_reduction(frame.kind) && frame.view <= closed_))
    return {5, what + " was let in, although the view was over"};
  if (frame.view > view_ && frame.kind != FrameKind::header)
    return {5, what + " was let in before the view, and is no header"};
  if (frame.view == view_ && frame.incarnation != incarnation)
    return {5, what + " was let in from incarnation " + text(frame.incarnation) + "; the member is " +
                   text(incarnation)};
  auto next = places_.lower_bound(place.data());
  const bool hits_next = next != places_.end() && next->first < place.data() + place.size();
  const bool hits_before =
      next != places_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > place.data();
  if (hits_next || hits_before) {
    const Frame& other = (hits_next ? next : std::prev(next))->second.frame;
    const auto named = [](const Frame& one) {
      return "kind " + text(static_cast<std::uint64_t>(one.kind)) + ", round " + text(one.round) +
             body_text(one);
    };
    return {9, what + " (" + named(frame) + ") was given a place where another one is arriving (" +
                   named(other) + ")"};
  }
  places_[place.data()] = {frame, place.size(), frame.view > view_};
  return {};
}

void FrameRule::dropped(const Frame& frame) {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const auto& each) {
    return std::memcmp(&each.second.frame, &frame, sizeof(Frame)) == 0;
  });
  if (found != places_.end()) places_.erase(found);
}

Wrong FrameRule::sending(const Frame& frame, std::span<const std::byte> payload, std::uint64_t number) {
  sending_[number] = {frame, payload, hash_words(kHashStart, payload)};
  const bool is_sum = frame.kind == FrameKind::result || frame.kind == FrameKind::reduced;
  if (is_sum && revoked_.contains({frame.view, frame.round, elements_in(frame).sum}))
    return {9, "it sends a sum of memory that its owner had taken back, in round " + text(frame.round) +
                   " of view " + text(frame.view)};
  return {};
}

Wrong FrameRule::record(std::uint32_t view, std::uint64_t round) const {
  const auto first = revoked_.lower_bound({view, round, 0});
  if (first == revoked_.end() || std::get<0>(*first) != view || std::get<1>(*first) != round) return {};
  return {9, "it ends round " + text(round) + " of view " + text(view) +
                 ", in which it has read memory that its owner had taken back"};
}

Wrong FrameRule::sent(std::uint64_t number) {
  const auto found = sending_.find(number);
  if (found == sending_.end()) return {9, "a send ended that was not under way"};
  const Sending sending = found->second;
  sending_.erase(found);
  if (hash_words(kHashStart, sending.payload) != sending.hash)
    return {9, "a buffer was changed while it was being sent, in round " + text(sending.frame.round) +
                   " of view " + text(sending.frame.view)};
  return {};
}

Wrong FrameRule::installed(std::uint32_t view) const {
  if (view_ >= view) return {};
  return {5, "it says that it has installed view " + text(view) + ", and its data plane is in view " +
                 text(view_)};
}

Wrong FrameRule::closed(std::uint32_t view) {
  closed_ = std::max(closed_, view);
  for (const auto& [number, sending] : sending_) {
    if (sending.frame.view == view && of_reduction(sending.frame.kind))
      return {9, "view " + text(view) + " was called closed while a send of it was under way"};
  }
  for (const auto& [where, place] : places_) {
    // What began to arrive before the view was entered arrives in a buffer of the engine's own, whatever
    // becomes of the view; nobody is told that it is free.
    if (place.frame.view == view && of_reduction(place.frame.kind) && !place.early)
      return {9, "view " + text(view) + " was called closed while a frame of it was arriving"};
  }
  return {};
}

// ---- a majority that falls silent

void MajorityRule::cut(const std::set<std::string>& who, std::size_t of, std::chrono::nanoseconds now) {
  if (of < 3 || 2 * who.size() <= of) return;
  cut_ = who;
  since_ = now;
}

// It had heard the last message of each a little earlier.
Wrong MajorityRule::lost(const std::string& who, std::chrono::nanoseconds patience,
                         std::chrono::nanoseconds now) const {
  if (!cut_.contains(who) || now - since_ >= SelfDoubt::kMajorityPatiences * patience) return {};
  const auto after = std::chrono::floor<std::chrono::milliseconds>(now - since_);
  return {11, who + " was given up for its silence " + std::to_string(after.count()) +
                  " ms after the coordinator was cut off from it and most others"};
}

// ---- the report

namespace {

// The oracle adds up in another order.
bool is_about(double value, double expected) {
  return std::abs(value - expected) <= 1e-5 * std::max(std::abs(expected), 1e-3);
}

Wrong losses_rule(const EpochEnd& row, const OracleEpoch& expected) {
  const auto differs = [&](const char* what, double value, double right) {
    return Wrong{4, std::string("epoch ") + text(row.epoch) + " has a " + what + " of " +
                        std::to_string(value) + ", the oracle " + std::to_string(right)};
  };
  if (row.evaluated != expected.loss.has_value())
    return {4, "an evaluation was left out, or done without need"};
  if (std::isfinite(row.train_loss) && !is_about(row.train_loss, expected.train_loss))
    return differs("train loss", row.train_loss, expected.train_loss);
  if (expected.loss && !is_about(row.loss, *expected.loss)) return differs("loss", row.loss, *expected.loss);
  return {};
}

}  // namespace

Wrong ledger_rule(const Report& report) {
  for (const EpochEnd& row : report.epochs) {
    if (row.repeated + row.missed > 0)
      return {1, "the ledger of epoch " + text(row.epoch) + " says repeated " + text(row.repeated) +
                     ", missed " + text(row.missed)};
  }
  return {};
}

Wrong report_rule(const Report& report, const OracleResult& oracle, bool bits) {
  if (bits && report.weights_sha256 != oracle.weights_sha256)
    return {4, "the report's weights are not the oracle's"};
  if (report.steps != oracle.steps)
    return {4, "the report has " + text(report.steps) + " steps, the oracle " + text(oracle.steps)};
  if (report.samples != oracle.samples)
    return {4, "the report has " + text(report.samples) + " samples, the oracle " + text(oracle.samples)};
  if (report.epochs.size() != oracle.epochs.size())
    return {1, "the report has " + text(report.epochs.size()) + " epochs, the oracle " +
                   text(oracle.epochs.size())};
  for (std::size_t i = 0; i < report.epochs.size(); ++i) {
    const EpochEnd& row = report.epochs[i];
    const OracleEpoch& expected = oracle.epochs[i];
    if (row.epoch != i + 1 || row.complete != expected.complete || row.used != expected.used ||
        row.dropped != expected.dropped || row.repeated != 0 || row.missed != 0)
      return {1, "the ledger of epoch " + text(row.epoch) + " says used " + text(row.used) + ", repeated " +
                     text(row.repeated) + ", missed " + text(row.missed) + ", dropped " + text(row.dropped) +
                     "; the oracle used " + text(expected.used) + " and dropped " + text(expected.dropped)};
    if (row.steps != expected.steps || row.samples != expected.samples)
      return {1, "epoch " + text(row.epoch) + " ends with step " + text(row.steps) + " and " +
                     text(row.samples) + " samples, the oracle's with " + text(expected.steps) + " and " +
                     text(expected.samples)};
    if (Wrong wrong = bits ? losses_rule(row, expected) : Wrong{}) return wrong;
  }
  return {};
}

}  // namespace muster::simulation
