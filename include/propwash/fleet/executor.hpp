#pragma once
/// @file
/// Executors distribute the work of a fleet over threads.
///
/// An executor is anything callable as `executor(count, work)` that calls `work(i)` once for each i
/// in [0, count), in any order and on any threads, and returns when all calls have returned.
/// `work` is callable through a const reference, from several threads at once, and does not throw.

#include <cstddef>
#include <memory>
#include <type_traits>

namespace propwash {

/// Calls on the caller's thread, in order.
struct Inline {
  template <class Work>
  void operator()(std::size_t count, const Work& work) const {
    for (std::size_t i = 0; i < count; ++i) work(i);
  }
};

/// A non-owning reference to any work. An exception from the work ends the program.
class WorkRef {
 public:
  template <class Work, class = std::enable_if_t<!std::is_same_v<Work, WorkRef>>>
  WorkRef(const Work& work) noexcept  // implicit, for arguments
      : work_(std::addressof(work)), call_([](const void* erased, std::size_t i) noexcept {
          (*static_cast<const Work*>(erased))(i);
        }) {}

  void operator()(std::size_t i) const noexcept { call_(work_, i); }

 private:
  const void* work_;
  void (*call_)(const void*, std::size_t) noexcept;
};

/// A non-owning reference to any executor; by default `Inline`. Use it for arguments only, as it
/// may refer to a temporary.
class ExecutorRef {
 public:
  ExecutorRef() noexcept : ExecutorRef(default_executor) {}

  template <class Executor,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<Executor>, ExecutorRef>>>
  ExecutorRef(Executor&& executor) noexcept  // implicit, for arguments
      : executor_(const_cast<void*>(static_cast<const void*>(std::addressof(executor)))),
        call_([](void* erased, std::size_t count, WorkRef work) {
          (*static_cast<std::remove_reference_t<Executor>*>(erased))(count, work);
        }) {}

  template <class Work>
  void operator()(std::size_t count, const Work& work) const {
    call_(executor_, count, WorkRef(work));
  }

 private:
  static constexpr Inline default_executor{};

  void* executor_;
  void (*call_)(void*, std::size_t, WorkRef);
};

}  // namespace propwash
