#include "actors/user_calls/call_note.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "actors/processes/memory_file.hpp"
#include "muster/error.hpp"

namespace muster {

// A seqlock (version is odd while the rest is written), so that a reader takes no half-written text. All of
// it 0: no call. On lines of its own: two threads write to two slots.
struct alignas(64) CallNote::Slot {
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> number, one, two;
  std::atomic<std::uint32_t> length;  // of the text; 0: no call is under way
  std::atomic<char> text[400];
};

struct CallNote::Page {
  Slot slots[2];
};

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

[[noreturn]] void fail(const char* what) {
  throw Error(std::string(what) + " for the note of calls: " + std::strerror(errno));
}

void replace(std::string& text, char mark, std::uint64_t number) {
  if (const auto at = text.find(mark); at != std::string::npos) text.replace(at, 1, std::to_string(number));
}

// The first bytes of a text in UTF-8, no letter of it cut.
std::size_t cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return most;
}

}  // namespace

std::string CallText::text(std::uint64_t one, std::uint64_t two) const {
  std::string text = text_;
  replace(text, kOne, one);
  replace(text, kTwo, two);
  return text;
}

std::uint64_t CallText::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::shared_ptr<CallNote> CallNote::map(int descriptor) {
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    fail("no memory");
  }
  return std::shared_ptr<CallNote>(new CallNote(descriptor, static_cast<Page*>(memory)));
}

std::shared_ptr<CallNote> CallNote::create() {
  const int descriptor = make_memory_file("muster-calls");
  if (::ftruncate(descriptor, sizeof(Page)) != 0) {
    ::close(descriptor);
    fail("no room");
  }
  return map(descriptor);
}

std::shared_ptr<CallNote> CallNote::open(int descriptor) {
  return map(descriptor);
}

CallNote::~CallNote() {
  ::munmap(page_, sizeof(Page));
  close_descriptor();
}

void CallNote::close_descriptor() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

CallNote::Slot& CallNote::slot(UserCode code) const {
  return page_->slots[static_cast<int>(code)];
}

void CallNote::begin(UserCode code, const CallText& what, std::uint64_t one, std::uint64_t two) {
  Slot& slot = this->slot(code);
  const std::uint64_t version = slot.version.load(kRelaxed);
  slot.version.store(version + 1, kRelaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const auto length = cut(what.text(), sizeof slot.text);
  if (std::exchange(last_id_[static_cast<int>(code)], what.id()) != what.id()) {
    for (std::size_t i = 0; i < length; ++i) slot.text[i].store(what.text()[i], kRelaxed);
  }
  slot.one.store(one, kRelaxed);
  slot.two.store(two, kRelaxed);
  slot.length.store(static_cast<std::uint32_t>(length), kRelaxed);
  slot.number.store(slot.number.load(kRelaxed) + 1, kRelaxed);
  slot.version.store(version + 2, std::memory_order_release);
}

void CallNote::end(UserCode code) {
  slot(code).length.store(0, std::memory_order_release);
}

std::vector<CallNote::Call> CallNote::current() const {
  std::vector<Call> calls;
  for (const UserCode code : {UserCode::model, UserCode::source}) {
    const Slot& slot = this->slot(code);
    const std::uint64_t version = slot.version.load(std::memory_order_acquire);
    const std::size_t length = std::min<std::size_t>(slot.length.load(kRelaxed), sizeof slot.text);
    Call call{code, std::string(length, ' '), slot.number.load(kRelaxed)};
    for (std::size_t i = 0; i < length; ++i) call.what[i] = slot.text[i].load(kRelaxed);
    replace(call.what, CallText::kOne, slot.one.load(kRelaxed));
    replace(call.what, CallText::kTwo, slot.two.load(kRelaxed));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version % 2 == 0 && length > 0 && slot.version.load(kRelaxed) == version)
      calls.push_back(std::move(call));
  }
  return calls;
}

void CallNote::write_current(HandlerText& to) const {
  bool any = false;
  for (const Slot& slot : page_->slots) {
    const std::uint64_t version = slot.version.load(std::memory_order_acquire);
    const std::size_t length = std::min<std::size_t>(slot.length.load(kRelaxed), sizeof slot.text);
    if (version % 2 != 0 || length == 0) continue;
    const std::size_t before = to.size();
    if (any) to.add(" and ");
    for (std::size_t i = 0; i < length; ++i) {
      const char letter = slot.text[i].load(kRelaxed);
      if (letter == CallText::kOne) {
        to.add(slot.one.load(kRelaxed));
      } else if (letter == CallText::kTwo) {
        to.add(slot.two.load(kRelaxed));
      } else {
        to.add(letter);
      }
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.version.load(kRelaxed) != version) {
      to.cut(before);
    } else {
      any = true;
    }
  }
}

std::uint64_t CallNote::calls() const {
  std::uint64_t all = 0;
  for (const Slot& slot : page_->slots) all += slot.number.load(kRelaxed);
  return all;
}

std::string text_of(const std::vector<CallNote::Call>& calls) {
  std::string text;
  for (const CallNote::Call& call : calls) text += (text.empty() ? "" : " and ") + call.what;
  return text;
}

}  // namespace muster
