// What of a user's code is being called, in memory that outlives the process: so its parent can say where it
// crashed or hangs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// One thread writes; the parent process reads at any time.
class CallNote {
 public:
  /// In anonymous shared memory. Throws Error.
  static std::shared_ptr<CallNote> create();
  /// The one that another process made, by its descriptor, which it takes. Throws Error.
  static std::shared_ptr<CallNote> open(int descriptor);
  ~CallNote();
  CallNote(const CallNote&) = delete;
  CallNote& operator=(const CallNote&) = delete;

  /// Of the memory; owned by the note. Closed at exec, unless it is handed on.
  int descriptor() const { return descriptor_; }

  /// The call that is under way while it lives. `note` may be null.
  class Scope {
   public:
    Scope(CallNote* note, std::string_view what) : note_(note) {
      if (note_) note_->begin(what);
    }
    ~Scope() {
      if (note_) note_->end();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallNote* note_;
  };

  struct Call {
    std::string what;
    std::uint64_t number = 0;  ///< of the calls so far
  };
  /// None: no call is under way, or one begins or ends at this moment.
  std::optional<Call> current() const;

 private:
  struct Page;
  CallNote(int descriptor, Page* page) : descriptor_(descriptor), page_(page) {}
  static std::shared_ptr<CallNote> map(int descriptor);
  void begin(std::string_view what);
  void end();

  int descriptor_;
  Page* page_;
};

}  // namespace muster
