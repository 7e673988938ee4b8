#include "actors/replica/states/checkpoint_duty.hpp"

#include <algorithm>

#include "actors/messages/disk_retry.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

// Half of the grace is for the spare folder.
std::chrono::nanoseconds give_up_after(const Written& written, const Job& job) {
  return written.parting ? job.checkpoint.grace / 2 : job.cluster.give_up_after;
}

}  // namespace

void CheckpointDuty::look(const SchedulePoint& here, const Interval* every, std::uint64_t records) {
  if (here == looked_at_) return;
  const SchedulePoint before = std::exchange(looked_at_, here);
  due_ = every != nullptr && checkpoint_due(*every, before, here);
  due_at_.reset();
  if (due_) due_at_ = records;
}

void CheckpointDuty::stand_at(const SchedulePoint& here) {
  looked_at_ = here;
  due_at_.reset();
  due_ = false;
}

void CheckpointDuty::enter(std::uint32_t view, bool last, bool back, Time now) {
  if (back) back_in_ = view;
  if (!last)
    last_since_.reset();
  else if (!last_since_)
    last_since_ = now;
}

CheckpointDuty::Kind CheckpointDuty::kind_of(const Written& written) {
  if (written.last && !canary("one-end-is-owed")) return of_the_job;
  return written.last || written.parting ? parting : on_the_way;
}

std::uint64_t CheckpointDuty::begin_write(const Written& asked) {
  owed_[kind_of(asked)] = {++writes_, false};
  return writes_;
}

CheckpointDuty::Time CheckpointDuty::answers_within(const Written& asked, const Job& job, bool last_view,
                                                    Time now) const {
  // The spare folder has a time of its own. The coordinator bounds both, by checkpoint.grace.
  if (is_elsewhere(asked)) return std::max<Time>(give_up_after(asked, job), kDiskAgainMin);
  Time since = asked.tries > 0 ? asked.tried_since : now;
  if (asked.parting && last_view && last_since_) since = *last_since_;
  const Time left = since + give_up_after(asked, job) - now;
  return std::max<Time>(left, kDiskAgainMin);
}

bool CheckpointDuty::takes(const Written& answer) const {
  if (kind_of(answer) == on_the_way) return true;
  const bool spare = !answer.folder.empty();
  return is_owed(answer) && (spare || !is_elsewhere(answer) || answer.error.empty());
}

CheckpointDuty::Verdict CheckpointDuty::judge(const Written& written, const Job& job, bool last_view,
                                              Time now) const {
  const bool in_spare_folder = !written.folder.empty();
  if (written.error.empty() || !written.disk || in_spare_folder || canary("refused-write-is-lost")) return {};
  Written again = written;
  if (++again.tries == 1) again.tried_since = now;
  if (written.parting && last_view && last_since_) again.tried_since = *last_since_;  // the run's end is near
  const auto wait =
      disk_again_in(disk_wait(again.tries), now - again.tried_since, give_up_after(written, job));
  if (wait) return {Follows::again, *wait, std::move(again)};
  if ((!written.last && !written.parting) || canary("no-spare-folder")) return {};
  return {Follows::elsewhere, Time(0), std::move(again)};
}

std::vector<Checkpointed> CheckpointDuty::told_last() const {
  std::vector<Checkpointed> all;
  if (told_) all.push_back(*told_);
  if (spared_) all.push_back(*spared_);
  return all;
}

void CheckpointDuty::go_back(std::uint64_t records) {
  for (auto* told : {&told_, &spared_}) {
    if (*told && (*told)->records > records) told->reset();
  }
}

}  // namespace muster
