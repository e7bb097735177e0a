#pragma once
/// @file
/// Threads, Ctrl-C and warnings in calls from Python.

#include <pybind11/pybind11.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "propwash/fleet/thread_pool.hpp"

namespace propwash::bindings {

/// The pool behind propwash.ThreadPool. All extension modules call the functions of the module that
/// made it, which know whether a thread is inside the work of a pool.
class BoundThreadPool : public ThreadPool {
 public:
  using ThreadPool::ThreadPool;
  virtual ~BoundThreadPool() = default;
  virtual ExecutorRef executor() { return ExecutorRef(*this); }
};

/// A propwash.ThreadPool or None.
using MaybePool = std::optional<std::shared_ptr<BoundThreadPool>>;

/// Valid for the lifetime of the pool. Without a pool, work runs on the calling thread.
inline ExecutorRef executor_of(const MaybePool& pool) {
  return pool && *pool ? (*pool)->executor() : ExecutorRef();
}

/// Calls f(i) for i = 0 … count - 1, each of `steps` steps. Releases the GIL in long loops and
/// checks for Ctrl-C after each chunk of about 50,000 steps, at least one call.
template <class F>
void interruptible(pybind11::ssize_t count, F&& f, pybind11::ssize_t steps = 1) {
  constexpr pybind11::ssize_t worth_releasing = 16;
  const pybind11::ssize_t chunk = std::max<pybind11::ssize_t>(1, 50000 / steps);
  if (count <= worth_releasing / steps) {
    for (pybind11::ssize_t i = 0; i < count; ++i) f(i);
    return;
  }
  for (pybind11::ssize_t start = 0; start < count; start += chunk) {
    {
      const pybind11::gil_scoped_release release;
      const pybind11::ssize_t end = std::min(start + chunk, count);
      for (pybind11::ssize_t i = start; i < end; ++i) f(i);
    }
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }
}

inline constexpr const char* steps_meaning =
    "steps since construction or the last reset with a seed; counter of the noise generator";
inline constexpr const char* seed_meaning = "seed of all noise";

/// Issues a RuntimeWarning unless the text is empty; throws if Python turns warnings into errors.
inline void warn(const std::string& text) {
  if (text.empty()) return;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) {
    throw pybind11::error_already_set();
  }
}

}  // namespace propwash::bindings
