// A value that comes and goes, and whose memory stays.
#pragma once

namespace muster {

/// As std::optional, but the next value takes the memory of the one before: what is said each round takes
/// none in the long run.
template <class T>
class Kept {
 public:
  explicit operator bool() const { return has_; }
  bool has_value() const { return has_; }
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

  /// Takes a value. `fill(T&)` writes it over the one before; false: there is none.
  template <class Fill>
  bool fill(const Fill& fill) {
    has_ = fill(value_);
    return has_;
  }
  Kept& operator=(const T& value) {
    value_ = value;
    has_ = true;
    return *this;
  }
  void reset() { has_ = false; }

 private:
  T value_{};
  bool has_ = false;
};

}  // namespace muster
