#pragma once
/// @file
/// What the classes behind Python's fleets share: threads, a lock, and views of arrays.

#include <limits>
#include <mutex>
#include <string>

#include "arrays.hpp"
#include "propwash/math/span.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

/// A fleet that several Python threads may use: a mutex admits one at a time.
class SharedFleet {
 public:
  explicit SharedFleet(const MaybePool& pool) : pool_(pool) {}

  /// Locks the fleet for several calls: other threads wait until unlock().
  void lock() const {
    const py::gil_scoped_release release;
    mutex_.lock();
  }
  void unlock() const { mutex_.unlock(); }

  int threads() const { return pool_ && *pool_ ? (*pool_)->threads() : 1; }

 protected:
  static constexpr py::ssize_t worth_releasing = 64;        // vehicle steps
  static constexpr py::ssize_t uninterrupted = 10'000'000;  // vehicle steps

  static py::ssize_t step_count(const py::object& substeps) {
    const py::ssize_t count = whole_number(substeps, "substeps", 1);
    constexpr py::ssize_t max = std::numeric_limits<int>::max();
    if (count > max) refuse("substeps", "at most " + std::to_string(max), substeps);
    return count;
  }

  /// Calls f with the mutex locked. A thread never waits for the mutex while it holds the GIL, so
  /// samplers may acquire the GIL within f; they may also read the fleet (the mutex is recursive).
  template <class F>
  decltype(auto) alone(bool is_long, F&& f) const {
    if (!is_long) {
      const std::unique_lock<std::recursive_mutex> lock(mutex_, std::try_to_lock);
      if (lock) return f();
    }
    const py::gil_scoped_release release;
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return f();
  }

  ExecutorRef executor() const { return executor_of(pool_); }

  template <class T>
  static Span<T> span_of(py::array_t<T, py::array::c_style>& rows) {
    return {rows.mutable_data(), static_cast<std::size_t>(rows.size())};
  }
  template <class U>
  static Span<const U> constant_span_of(const py::array_t<U, py::array::c_style>& rows) {
    return {rows.data(), static_cast<std::size_t>(rows.size())};
  }
  static Span<const bool> mask_of(const py::object& mask) {
    if (mask.is_none()) return {};
    return constant_span_of(py::reinterpret_borrow<py::array_t<bool, py::array::c_style>>(mask));
  }

  MaybePool pool_;
  mutable std::recursive_mutex mutex_;
};

}  // namespace propwash::bindings
