#pragma once
/// @file
/// The threads that a call from Python may use.

#include <memory>
#include <optional>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/thread_pool.hpp"

namespace propwash::bindings {

/// A propwash.ThreadPool or None.
using MaybePool = std::optional<std::shared_ptr<ThreadPool>>;

/// Valid as long as the pool; without one all work is the caller's thread's.
inline ExecutorRef executor_of(const MaybePool& pool) {
  return pool && *pool ? ExecutorRef(**pool) : ExecutorRef();
}

}  // namespace propwash::bindings
