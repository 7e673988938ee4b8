// What of a user's code is being called, in memory that outlives the process: so its parent can say where it
// crashed or hangs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/handler_text.hpp"

namespace muster {

/// A call as a node makes it at one time: of each kind by one thread.
enum class UserCode { model, source };

/// How a call is told of. Made once for many calls.
class CallText {
 public:
  /// In the text, once each: where numbers of each call stand.
  static constexpr char kOne = '\1', kTwo = '\2';

  explicit CallText(std::string text) : text_(std::move(text)), id_(next_id()) {}
  const std::string& text() const { return text_; }
  std::string text(std::uint64_t one, std::uint64_t two) const;  ///< with the numbers of a call
  std::uint64_t id() const { return id_; }  ///< of this text and its copies, in this process

 private:
  static std::uint64_t next_id();
  std::string text_;
  std::uint64_t id_;
};

/// Of each kind one thread writes; the parent process reads at any time.
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
  /// Once it has been handed on it is needed no more.
  void close_descriptor();

  /// The call that is under way while it lives. The same text as in the last call is not copied again.
  class Scope {
   public:
    Scope(CallNote* note, UserCode code, const CallText& what, std::uint64_t one = 0, std::uint64_t two = 0)
        : note_(note), code_(code) {
      if (note_) note_->begin(code, what, one, two);
    }
    ~Scope() {
      if (note_) note_->end(code_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallNote* note_;
    UserCode code_;
  };

  struct Call {
    UserCode code = UserCode::model;
    std::string what;
    std::uint64_t number = 0;  ///< of the calls of this kind so far
  };
  /// Those that are under way, but for one that begins or ends at this moment.
  std::vector<Call> current() const;
  /// As text_of(current()), in a signal handler.
  void write_current(HandlerText& to) const;
  /// So many have begun.
  std::uint64_t calls() const;

 private:
  struct Slot;
  struct Page;
  CallNote(int descriptor, Page* page) : descriptor_(descriptor), page_(page) {}
  static std::shared_ptr<CallNote> map(int descriptor);
  Slot& slot(UserCode code) const;
  void begin(UserCode code, const CallText& what, std::uint64_t one, std::uint64_t two);
  void end(UserCode code);

  int descriptor_;
  Page* page_;
  std::uint64_t last_id_[2] = {0, 0};  // by kind, each of its own thread
};

/// "gradient() of model 'x' and read(7) of source 'y'"; empty: none.
std::string text_of(const std::vector<CallNote::Call>& calls);

}  // namespace muster
