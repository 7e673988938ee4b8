// A function object to be called once, kept in place: handing work to the progress thread allocates nothing.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace muster {

/// Holds any callable void() of at most kBytes, moved in; a larger capture does not compile (move it behind a
/// pointer). Also holds a std::function<void()>.
class Command {
 public:
  static constexpr std::size_t kBytes = 64;

  template <class Callable, class Plain = std::decay_t<Callable>>
  requires(!std::is_same_v<Plain, Command> && std::is_invocable_r_v<void, Plain&>)
      Command(Callable&& callable) {  // NOLINT: converts, as std::function does
    static_assert(sizeof(Plain) <= kBytes && alignof(Plain) <= alignof(std::max_align_t), "capture less");
    static_assert(std::is_nothrow_move_constructible_v<Plain>, "commands move within a queue");
    new (storage_) Plain(std::forward<Callable>(callable));
    call_ = [](void* self) { (*static_cast<Plain*>(self))(); };
    move_or_destroy_ = [](void* self, void* to) {
      auto* plain = static_cast<Plain*>(self);
      if (to != nullptr) new (to) Plain(std::move(*plain));
      plain->~Plain();
    };
  }

  Command(Command&& other) noexcept { take(other); }
  Command& operator=(Command&& other) noexcept {
    if (this != &other) {
      clear();
      take(other);
    }
    return *this;
  }
  ~Command() { clear(); }

  void operator()() { call_(storage_); }

 private:
  void take(Command& other) {
    call_ = other.call_;
    move_or_destroy_ = other.move_or_destroy_;
    if (move_or_destroy_ != nullptr) move_or_destroy_(other.storage_, storage_);
    other.move_or_destroy_ = nullptr;
  }
  void clear() {
    if (move_or_destroy_ != nullptr) move_or_destroy_(storage_, nullptr);
    move_or_destroy_ = nullptr;
  }

  alignas(std::max_align_t) std::byte storage_[kBytes];
  void (*call_)(void* self) = nullptr;
  void (*move_or_destroy_)(void* self, void* to) = nullptr;  // none: moved from
};

}  // namespace muster
