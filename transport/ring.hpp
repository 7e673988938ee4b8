// A queue that allocates nothing once it has been as long as it gets.
#pragma once

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <utility>

namespace muster {

/// As std::deque, which gives its blocks back and takes them anew as it moves along.
template <class T>
class Ring {
 public:
  void push_back(T value) {
    make_room();
    items_.push_back(std::move(value));
  }
  /// Before the element `at`, which may be the end; those before it are moved.
  void insert(std::size_t at, T value) {
    if (at == items_.size()) return push_back(std::move(value));
    make_room();
    items_.rinsert(items_.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
  }
  void pop_front() { items_.pop_front(); }
  void clear() { items_.clear(); }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  T& front() { return items_.front(); }
  const T& front() const { return items_.front(); }
  T& operator[](std::size_t i) { return items_[i]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  void make_room() {
    constexpr std::size_t kFirst = 16;
    if (items_.full()) items_.set_capacity(std::max(kFirst, 2 * items_.capacity()));
  }

  boost::circular_buffer<T> items_;
};

}  // namespace muster
