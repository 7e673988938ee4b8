#include "muster/actors/contract/call_note.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "muster/config/error.hpp"

namespace muster {

// A seqlock (version is odd while text and length are written), so that a reader takes no half-written text.
// All of it 0: no call.
struct CallNote::Page {
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> number;
  std::atomic<std::uint32_t> length;
  std::atomic<char> text[500];
};

namespace {

[[noreturn]] void fail(const char* what) {
  throw Error(Advice::give_up, std::string(what) + " for the note of calls: " + std::strerror(errno));
}

}  // namespace

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
  const int descriptor = ::memfd_create("muster-calls", MFD_CLOEXEC);
  if (descriptor < 0) fail("no memory");
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
  ::close(descriptor_);
}

void CallNote::begin(std::string_view what) {
  page_->version.fetch_add(1);
  const auto length = std::min<std::size_t>(what.size(), sizeof page_->text);
  for (std::size_t i = 0; i < length; ++i) page_->text[i].store(what[i], std::memory_order_relaxed);
  page_->length.store(static_cast<std::uint32_t>(length), std::memory_order_relaxed);
  page_->number.fetch_add(1, std::memory_order_relaxed);
  page_->version.fetch_add(1);
}

void CallNote::end() {
  page_->version.fetch_add(1);
  page_->length.store(0, std::memory_order_relaxed);
  page_->version.fetch_add(1);
}

std::optional<CallNote::Call> CallNote::current() const {
  const std::uint64_t before = page_->version.load();
  const std::size_t length = std::min<std::size_t>(page_->length.load(), sizeof page_->text);
  Call call{std::string(length, ' '), page_->number.load()};
  for (std::size_t i = 0; i < length; ++i) call.what[i] = page_->text[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (before % 2 != 0 || length == 0 || page_->version.load() != before) return std::nullopt;
  return call;
}

}  // namespace muster
