#include "cli/progress_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bounded/line_output.hpp"
#include "base/units.hpp"
#include "cli/event_lines.hpp"
#include "cli/format.hpp"

namespace muster::cli {

namespace {

// Steps of the whole job; 0 where it is not known.
std::uint64_t total_steps(const Job& job, const DataFacts& facts) {
  if (job.train.steps) return *job.train.steps;
  return job.train.epochs.value_or(1) * facts.steps_per_epoch;
}

// Of the terminal as it is now; it may be made wider or narrower at any time.
std::size_t terminal_columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kUsual;
}

}  // namespace

ProgressLine::ProgressLine(const Job& job, bool quiet, bool by_hand)
    : job_(job), quiet_(quiet), by_hand_(by_hand), terminal_(::isatty(STDERR_FILENO) != 0) {}

// A line that is wider than the terminal would leave its beginning behind each time it is written over.
void ProgressLine::write_over(const std::string& text) {
  error_output().print_over(text.substr(0, terminal_columns() - 1));
}

void ProgressLine::write_line(const std::string& text) {
  error_output().print(text);
}

void ProgressLine::measure(std::uint64_t samples, std::uint64_t step) {
  rate_.clear();
  left_.clear();
  if (!begun_) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  if (seconds <= 0 || samples <= first_samples_ || step <= first_step_) return;
  rate_ = format("  %.0f samples/s", static_cast<double>(samples - first_samples_) / seconds);
  if (total_steps_ <= step) return;
  const double left =
      seconds / static_cast<double>(step - first_step_) * static_cast<double>(total_steps_ - step);
  left_ = "  " + human_duration(std::chrono::duration<double>(left)) + " left";
}

void ProgressLine::show(const Progress& progress, const DataFacts& facts) {
  if (quiet_) return;
  total_steps_ = total_steps(job_, facts);
  if (!begun_) {  // not at an epoch: one that has ended long ago may be told again
    begun_ = true;
    since_ = std::chrono::steady_clock::now();
    first_samples_ = progress.samples;
    first_step_ = progress.step;
  }
  measure(progress.samples, progress.step);
  if (!terminal_ || run_ends_) return;
  std::string text = format("epoch %llu  step %llu", static_cast<unsigned long long>(progress.epoch),
                            static_cast<unsigned long long>(progress.step));
  if (total_steps_ > 0) text += format("/%llu", static_cast<unsigned long long>(total_steps_));
  text += format("  loss %.4f", progress.loss);
  if (job_.train.clip_norm) text += format("  gradient norm %.3g", progress.gradient_norm);
  for (const std::string& more : {rate_, left_}) {  // a number that is cut off reads as another one
    if (text.size() + more.size() < terminal_columns()) text += more;
  }
  write_over(text);
}

void ProgressLine::end() {
  if (terminal_) error_output().print_over("");
}

// All of it is the event's own, so that it is true of this epoch: the last step that was told of may be of
// the one before.
void ProgressLine::write_epoch(const Event& event) {
  const auto whole = [&](const char* key) { return static_cast<long long>(event.integer(key)); };
  measure(static_cast<std::uint64_t>(event.integer("samples")),
          static_cast<std::uint64_t>(event.integer("steps")));
  write_line(
      format("epoch %lld  steps %lld  loss %.4f%s  ledger: %lld used, %lld repeated, %lld missed, "
             "%lld dropped%s%s",
             whole("epoch"), whole("steps"), event.number("loss"), rate_.c_str(), whole("used"),
             whole("repeated"), whole("missed"), whole("dropped"),
             event.integer("complete") ? "" : " (cut short)", is_last(event) ? "" : left_.c_str()));
}

// Of the whole job: then all nodes leave, which is no news.
bool ProgressLine::is_last(const Event& epoch) const {
  const auto reached = [&](const char* key, const std::optional<std::uint64_t>& most) {
    return most && static_cast<std::uint64_t>(epoch.integer(key)) >= *most;
  };
  const auto epochs = job_.train.steps ? job_.train.epochs : job_.train.epochs.value_or(1);
  return reached("epoch", epochs) || reached("steps", job_.train.steps);
}

void ProgressLine::show(const Event& event) {
  run_ends_ |= event.name == "interrupted";
  if (event.name == "epoch") all_leave_ = is_last(event);
  if (event.name == "epoch" && !quiet_) write_epoch(event);
  if (event.name == "left" && all_leave_) return;
  if (event.name == "view" && run_ends_) return;      // of the last checkpoint: no step follows
  if (event.name == "progress" && terminal_) return;  // it is in the line that is written over
  if (event.name == "arrived" && !by_hand_) return;   // this process has started it
  const auto line = line_of(event);
  if (line && (line->always || !quiet_)) write_line(line->text);
}

}  // namespace muster::cli
