#include "actors/node/last_word.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/bounded/line_output.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

constexpr timespec kCrashLook{0, 2'000'000};
constexpr std::size_t kSignalStack = 256 * 1024;

// As strsignal, which a handler may not call.
std::string_view name_of_crash(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "Segmentation fault";
    case SIGBUS:
      return "Bus error";
    case SIGFPE:
      return "Floating point exception";
    case SIGILL:
      return "Illegal instruction";
    default:
      return "Aborted";
  }
}

// In a handler, too: until it holds, or the time is over.
template <class Holds>
void wait_in_handler(const Holds& holds, std::chrono::nanoseconds most) {
  const std::chrono::nanoseconds each(kCrashLook.tv_nsec);
  for (std::chrono::nanoseconds waited{0}; waited < most && !holds(); waited += each)
    ::nanosleep(&kCrashLook, nullptr);
}

}  // namespace

LastWord::LastWord(std::shared_ptr<const CallNote> note, std::string begins)
    : note_(std::move(note)), begins_(std::move(begins)) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &before_[i]);
  release_error_signals_of_ucx();
  one_.store(this);
  struct sigaction action {};
  action.sa_sigaction = &LastWord::on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

LastWord::~LastWord() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  one_.store(nullptr);
}

void LastWord::use_signal_stack() {
  static thread_local std::unique_ptr<char[]> memory;
  stack_t now{};
  if (memory || ::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  memory = std::make_unique<char[]>(kSignalStack);
  stack_t stack{};
  stack.ss_sp = memory.get();
  stack.ss_size = kSignalStack;
  ::sigaltstack(&stack, nullptr);
}

std::optional<std::string> LastWord::take() {
  if (!said_ || std::exchange(taken_, true)) return std::nullopt;
  return std::string(text_.view());
}

void LastWord::end_if_crashed() {
  if (!said_) return;
  told_ = true;
  wait_in_handler([] { return false; }, kTellMax);
  ::_exit(1);
}

// The first thread that crashes speaks, and waits until the others are told. What crashes meanwhile stands
// still; what crashes in the handler itself ends the process.
void LastWord::on_signal(int signal, siginfo_t* info, void* context) {
  LastWord* const word = one_.load();
  const int self = ::gettid();
  int nobody = 0;
  if (word && !word->thread_.compare_exchange_strong(nobody, self) && nobody != self) {
    for (;;) ::pause();
  }
  if (word && nobody == 0) {
    word->speak(signal);
    wait_in_handler([word] { return word->told_.load(); }, kTellMax);
  }
  ::signal(signal, SIG_DFL);
  if (word) word->pass_on(signal, info, context);
  ::raise(signal);  // it is blocked until the handler returns
}

void LastWord::speak(int signal) {
  text_.add("process ");
  text_.add(static_cast<std::uint64_t>(::getpid()));
  text_.add(" was ended by signal ");
  text_.add(static_cast<std::uint64_t>(signal));
  text_.add(" (");
  text_.add(name_of_crash(signal));
  text_.add(")");
  const std::size_t before = text_.size();
  text_.add(" in ");
  const std::size_t with_in = text_.size();
  note_->write_current(text_);
  if (text_.size() == with_in) text_.cut(before);
  said_ = true;  // the others are told, whatever becomes of the lines
  print_at_once(begins_);
  print_at_once(text_.view());
  print_at_once("\n");
}

// A library's or the user's handler may print where in the code it was.
void LastWord::pass_on(int signal, siginfo_t* info, void* context) const {
  const auto which = std::ranges::find(kSignals, signal) - kSignals.begin();
  const struct sigaction& before = before_[static_cast<std::size_t>(which)];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    if (before.sa_sigaction) before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

}  // namespace muster
