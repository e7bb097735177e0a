#pragma once
/// @file
/// A pool of threads for calls that last as little as tens of microseconds.
///
/// A call puts a job, which lives on the caller's stack, on a list, wakes workers and takes indices
/// itself. It waits for those workers only that have taken up the job: one that wakes too late
/// costs nothing but its waking. Each thread begins with the same share of the indices in every
/// call, so that what these refer to stays in the cache of its core, and then helps with the
/// others.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "propwash/fleet/executor.hpp"
#include "propwash/math/config.hpp"

namespace propwash {

namespace detail {

/// Tells a process from the one that it was forked from.
inline long process_id() {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<long>(::getpid());
#else
  return 0;
#endif
}

/// Whether this thread is inside the work of a pool.
inline thread_local bool inside_work = false;

/// Waits until `condition` holds, for no longer than it takes to wake a sleeping thread.
template <class Condition>
void spin_until(const Condition& condition) {
  constexpr std::chrono::microseconds longest{50};
  const auto end = std::chrono::steady_clock::now() + longest;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// One call of a pool.
struct PoolJob {
  PoolJob(std::size_t count_, WorkRef work_, std::size_t threads)
      : count(count_), work(work_), parts(std::min({threads, count_, max_parts})) {
    for (std::size_t i = 0; i < parts; ++i) {
      part[i].next.store(i * count / parts, std::memory_order_relaxed);
      part[i].end = (i + 1) * count / parts;
    }
  }

  bool has_more() const {
    return std::any_of(part, part + parts, [](const Part& each) {
      return each.next.load(std::memory_order_relaxed) < each.end;
    });
  }
  /// `thread` is 0 for the caller, then the number of the worker.
  void run(std::size_t thread) {
    for (std::size_t k = 0; k < parts; ++k) {
      Part& mine = part[(thread + k) % parts];
      for (std::size_t i = mine.next++; i < mine.end; i = mine.next++) work(i);
    }
  }

  struct alignas(64) Part {
    std::atomic<std::size_t> next;
    std::size_t end;
  };
  static constexpr std::size_t max_parts = 64;

  const std::size_t count;
  const WorkRef work;
  const std::size_t parts;       ///< of the indices, one for each thread
  PoolJob* following = nullptr;  ///< in the list
  std::atomic<int> helpers{0};   ///< workers that have taken up this job; written under the mutex
  Part part[max_parts];
};

/// The workers of a pool in one process, and what they share.
class PoolCrew {
 public:
  explicit PoolCrew(int workers) : process_(process_id()) {
    workers_.reserve(static_cast<std::size_t>(workers));
#if PROPWASH_HAS_EXCEPTIONS
    try {
      start();
    } catch (const std::system_error& error) {
      const auto started = workers_.size();
      dismiss();
      PROPWASH_THROW(std::system_error(
          error.code(), "propwash::ThreadPool: expected to start " + std::to_string(workers) +
                            " workers, got " + std::to_string(started) + "; ask for fewer"));
    }
#else
    start();  // the standard library ends the program where there are no more threads
#endif
  }
  PoolCrew(const PoolCrew&) = delete;
  PoolCrew& operator=(const PoolCrew&) = delete;
  ~PoolCrew() { dismiss(); }

  bool is_of_this_process() const { return process_ == process_id(); }

  void run(PoolJob& job) {
    post(job);
    inside_work = true;
    job.run(0);
    inside_work = false;
    if (!withdraw(job)) wait_for_helpers(job);
  }

 private:
  void start() {
    while (workers_.size() < workers_.capacity()) {
      workers_.emplace_back([this, thread = workers_.size() + 1] { serve(thread); });
    }
  }

  void post(PoolJob& job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      PoolJob** end = &first_;
      while (*end != nullptr) end = &(*end)->following;
      *end = &job;
      ++posted_;
    }
    const std::size_t wanted = job.count - 1;  // the caller takes one
    if (wanted >= workers_.size()) {
      wake_.notify_all();
    } else {
      for (std::size_t i = 0; i < wanted; ++i) wake_.notify_one();
    }
  }

  /// Takes the job off the list; whether nobody helps with it any more.
  bool withdraw(PoolJob& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    PoolJob** place = &first_;
    while (*place != &job) place = &(*place)->following;
    *place = job.following;
    return job.helpers == 0;
  }

  void wait_for_helpers(const PoolJob& job) {
    spin_until([&] { return job.helpers == 0; });
    if (job.helpers == 0) return;
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

  /// What a worker does. It spins once after a job, for the next step of a flight follows closely.
  void serve(std::size_t thread) {
    inside_work = true;
    bool has_rested = true;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!dismissed_) {
      if (PoolJob* job = job_with_more()) {
        ++job->helpers;
        lock.unlock();
        job->run(thread);
        lock.lock();
        if (--job->helpers == 0) done_.notify_all();  // from here on the job may be gone
        has_rested = false;
      } else if (!has_rested) {
        const unsigned seen = posted_;
        lock.unlock();
        spin_until([&] { return posted_ != seen; });
        lock.lock();
        has_rested = true;
      } else {
        wake_.wait(lock);
      }
    }
  }

  PoolJob* job_with_more() const {
    PoolJob* job = first_;
    while (job != nullptr && !job->has_more()) job = job->following;
    return job;
  }

  void dismiss() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      dismissed_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  const long process_;
  std::mutex mutex_;                 ///< guards the list, the helpers of jobs and dismissed_
  std::condition_variable wake_;     ///< workers sleep on it
  std::condition_variable done_;     ///< callers sleep on it
  PoolJob* first_ = nullptr;         ///< of the list of calls in progress, in their order
  std::atomic<unsigned> posted_{0};  ///< number of calls so far
  bool dismissed_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace detail

/// An executor that calls on several threads, the caller's among them.
///
/// - The work is noexcept by contract: an exception out of it ends the program.
/// - A call allocates nothing, and idle workers sleep.
/// - Several threads may call one pool at once; they share its workers, first come, first served.
/// - A call from inside the work of a pool, of this one or another, runs on its thread alone.
/// - After fork() the child has no workers; its first call starts new ones, which allocates and may
///   throw std::system_error. A child that is forked inside work may not return from that work.
class ThreadPool {
 public:
  /// `threads` in all, the caller included, so 1 starts none. std::invalid_argument if less than 1,
  /// std::system_error if the system does not give so many.
  explicit ThreadPool(int threads)
      : threads_(checked(threads)), crew_(new detail::PoolCrew(threads - 1)) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Joins the workers. No call may be in progress.
  ~ThreadPool() {
    detail::PoolCrew* crew = crew_;
    if (crew->is_of_this_process()) delete crew;
  }

  /// Threads in all, the caller included.
  int threads() const { return threads_; }

  /// Calls work(i) once for each i in [0, count) and returns when all calls have returned.
  template <class Work>
  void operator()(std::size_t count, const Work& work) {
    const WorkRef erased(work);
    if (threads_ == 1 || count <= 1 || detail::inside_work) return Inline{}(count, erased);
    detail::PoolJob job(count, erased, static_cast<std::size_t>(threads_));
    crew().run(job);
  }

 private:
  static int checked(int threads) {
    if (threads >= 1) return threads;
    PROPWASH_THROW(std::invalid_argument(
        "propwash::ThreadPool: expected threads >= 1, the caller included, got " +
        std::to_string(threads) +
        "; std::thread::hardware_concurrency() reports how many the processor has"));
  }

  /// The workers of this process. Those of a parent are abandoned with all that they share: their
  /// threads are not here to be joined, and one may have held the mutex when the process forked.
  detail::PoolCrew& crew() {
    detail::PoolCrew* present = crew_;
    if (present->is_of_this_process()) return *present;
    auto fresh = std::make_unique<detail::PoolCrew>(threads_ - 1);
    // of several threads that come here at once, one replaces the crew and the others take its
    if (crew_.compare_exchange_strong(present, fresh.get())) return *fresh.release();
    return *present;
  }

  const int threads_;
  std::atomic<detail::PoolCrew*> crew_;
};

}  // namespace propwash
