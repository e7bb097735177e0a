#pragma once
/// @file
/// A thread pool for calls as short as tens of microseconds.
///
/// A call puts a job, allocated on the caller's stack, on a list, wakes workers and works on it
/// too. It waits only for workers that have joined the job, so a worker that wakes too late does
/// not delay it. Each thread starts with the same range of indices in every call, which keeps their
/// data in the cache of its core, and then takes indices from the other ranges.

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

/// Differs between a process and its parent, for the detection of fork().
inline long process_id() {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<long>(::getpid());
#else
  return 0;
#endif
}

/// Whether this thread is inside the work of a pool.
inline thread_local bool inside_work = false;

/// Waits until `condition` holds, for at most about the time that waking a thread takes.
template <class Condition>
void spin_until(const Condition& condition) {
  constexpr std::chrono::microseconds max_wait{50};
  const auto end = std::chrono::steady_clock::now() + max_wait;
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
  /// `thread`: 0 for the caller, 1 and up for the workers.
  void run(std::size_t thread) {
    for (std::size_t k = 0; k < parts; ++k) {
      Part& range = part[(thread + k) % parts];
      for (std::size_t i = range.next++; i < range.end; i = range.next++) work(i);
    }
  }

  struct alignas(64) Part {
    std::atomic<std::size_t> next;
    std::size_t end;
  };
  static constexpr std::size_t max_parts = 64;

  const std::size_t count;
  const WorkRef work;
  const std::size_t parts;       ///< ranges of indices, one for each thread
  PoolJob* following = nullptr;  ///< in the list
  std::atomic<int> helpers{0};   ///< workers that have joined; written under the mutex
  Part part[max_parts];
};

/// The workers of a pool in one process, and their shared state.
class PoolWorkers {
 public:
  explicit PoolWorkers(int workers) : process_(process_id()) {
    workers_.reserve(static_cast<std::size_t>(workers));
#if PROPWASH_HAS_EXCEPTIONS
    try {
      start();
    } catch (const std::system_error& error) {
      const auto started = workers_.size();
      stop();
      PROPWASH_THROW(std::system_error(
          error.code(), "propwash::ThreadPool: threads = " + std::to_string(workers + 1) +
                            ": expected at most " + std::to_string(started + 1) +
                            ", which the system can start; use fewer"));
    }
#else
    start();  // without exceptions, the standard library ends the program on failure
#endif
  }
  PoolWorkers(const PoolWorkers&) = delete;
  PoolWorkers& operator=(const PoolWorkers&) = delete;
  ~PoolWorkers() { stop(); }

  bool belongs_to_this_process() const { return process_ == process_id(); }

  void run(PoolJob& job) {
    post(job);
    inside_work = true;
    job.run(0);
    inside_work = false;
    if (!remove(job)) wait_for_helpers(job);
  }

 private:
  void start() {
    while (workers_.size() < workers_.capacity()) {
      workers_.emplace_back([this, thread = workers_.size() + 1] { run_worker(thread); });
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
    const std::size_t needed = job.count - 1;  // the caller takes one
    if (needed >= workers_.size()) {
      wake_.notify_all();
    } else {
      for (std::size_t i = 0; i < needed; ++i) wake_.notify_one();
    }
  }

  /// Removes the job from the list. Returns whether all workers have left it.
  bool remove(PoolJob& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    PoolJob** link = &first_;
    while (*link != &job) link = &(*link)->following;
    *link = job.following;
    return job.helpers == 0;
  }

  void wait_for_helpers(const PoolJob& job) {
    spin_until([&] { return job.helpers == 0; });
    if (job.helpers == 0) return;
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

  /// A worker's loop. It spins once after a job, because the next step usually follows soon.
  void run_worker(std::size_t thread) {
    inside_work = true;
    bool has_spun = true;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
      if (PoolJob* job = job_with_more()) {
        ++job->helpers;
        lock.unlock();
        job->run(thread);
        lock.lock();
        if (--job->helpers == 0) done_.notify_all();  // the job may no longer exist after this
        has_spun = false;
      } else if (!has_spun) {
        const unsigned seen = posted_;
        lock.unlock();
        spin_until([&] { return posted_ != seen; });
        lock.lock();
        has_spun = true;
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

  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  const long process_;
  std::mutex mutex_;                 ///< guards the list, the helpers of jobs and stopping_
  std::condition_variable wake_;     ///< workers sleep on it
  std::condition_variable done_;     ///< callers sleep on it
  PoolJob* first_ = nullptr;         ///< head of the list of calls in progress
  std::atomic<unsigned> posted_{0};  ///< number of calls so far
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace detail

/// An executor that calls on several threads, including the caller's.
///
/// - The work must not throw: an exception ends the program.
/// - A call allocates nothing, and idle workers sleep.
/// - Several threads may call one pool at once; they share its workers, in the order of the calls.
/// - A call from inside the work of any pool runs on the calling thread alone.
/// - After fork() the child has no workers; its first call starts new ones, which allocates and may
///   throw std::system_error. A child that was forked inside work must not return from that work.
class ThreadPool {
 public:
  /// `threads` includes the caller, so 1 starts no worker.
  /// @throws std::invalid_argument if less than 1, std::system_error if they cannot be started.
  explicit ThreadPool(int threads)
      : threads_(checked(threads)), workers_(new detail::PoolWorkers(threads - 1)) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Joins the workers. No call may be in progress.
  ~ThreadPool() {
    detail::PoolWorkers* workers = workers_;
    if (workers->belongs_to_this_process()) delete workers;
  }

  /// Number of threads, including the caller.
  int threads() const { return threads_; }

  /// Calls work(i) once for each i in [0, count) and returns when all calls have returned.
  template <class Work>
  void operator()(std::size_t count, const Work& work) {
    const WorkRef erased(work);
    if (threads_ == 1 || count <= 1 || detail::inside_work) return Inline{}(count, erased);
    detail::PoolJob job(count, erased, static_cast<std::size_t>(threads_));
    workers().run(job);
  }

 private:
  static int checked(int threads) {
    if (threads >= 1) return threads;
    PROPWASH_THROW(std::invalid_argument(
        "propwash::ThreadPool: threads = " + std::to_string(threads) +
        ": expected at least 1, which includes the caller; std::thread::hardware_concurrency() "
        "reports how many the processor has"));
  }

  /// The workers of this process. Those of a parent process are leaked: their threads do not exist
  /// here, so they cannot be joined, and one may have held the mutex at the fork.
  detail::PoolWorkers& workers() {
    detail::PoolWorkers* present = workers_;
    if (present->belongs_to_this_process()) return *present;
    auto fresh = std::make_unique<detail::PoolWorkers>(threads_ - 1);
    // if several threads reach this at the same time, one replaces the workers; the others use its
    if (workers_.compare_exchange_strong(present, fresh.get())) return *fresh.release();
    return *present;
  }

  const int threads_;
  std::atomic<detail::PoolWorkers*> workers_;
};

}  // namespace propwash
