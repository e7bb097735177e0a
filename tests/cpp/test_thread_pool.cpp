// Executors call work once for each index, also with concurrent calls, forks and sleeping workers,
// and a call of a pool allocates nothing.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <new>
#include <propwash/fleet/thread_pool.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "catch.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#define PROPWASH_HAS_FORK 1
#else
#define PROPWASH_HAS_FORK 0
#endif

#if defined(__SANITIZE_THREAD__)
#define PROPWASH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PROPWASH_TSAN 1
#endif
#endif

// A new thread may get the id of one that was lost in the fork, which makes the sanitizer abort.
#if defined(PROPWASH_TSAN)
#define PROPWASH_NO_FORK "ThreadSanitizer does not support threads started in a forked child"
#elif !PROPWASH_HAS_FORK
#define PROPWASH_NO_FORK "there is no fork here"
#endif

namespace {

std::atomic<long> news{0};

void* counted_new(std::size_t size) noexcept {
  ++news;
  return std::malloc(size > 0 ? size : 1);
}

void* counted_new_or_throw(std::size_t size) {
  void* p = counted_new(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// GCC warns of a mismatch if it inlines only one of a pair.
[[gnu::noinline]] void* operator new(std::size_t size) { return counted_new_or_throw(size); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return counted_new_or_throw(size); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_new(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_new(size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace pw = propwash;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

/// Whether `executor` calls work once for each of `count` indices, and for no other.
template <class Executor>
bool calls_each_once(Executor&& executor, std::size_t count) {
  std::vector<std::atomic<int>> calls(count);
  std::atomic<int> strays{0};
  executor(count, [&](std::size_t i) { ++(i < count ? calls[i] : strays); });
  for (const auto& n : calls) {
    if (n != 1) return false;
  }
  return strays == 0;
}

/// Waits for a condition that another thread sets; false after some seconds.
template <class Condition>
bool eventually(const Condition& condition) {
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

#if !defined(PROPWASH_NO_FORK)
/// Whether `f` returns true in a forked child, which a signal ends if it hangs.
template <class F>
bool in_child(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}
#endif

}  // namespace

TEST_CASE("a pool calls work once for each index", "[thread pool]") {
  for (const int threads : {1, 2, 4}) {
    pw::ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, 2, 7, 1000}) {
      CAPTURE(threads, count);
      bool all = true;
      for (int n = 0; n < 50; ++n) all = calls_each_once(pool, count) && all;
      CHECK(all);
    }
  }
}

TEST_CASE("all threads of a pool work, including the caller", "[thread pool]") {
  for (const int threads : {2, 4}) {
    pw::ThreadPool pool(threads);
    std::atomic<int> begun{0};
    std::atomic<int> on_caller{0};
    std::atomic<bool> in_time{true};
    const auto caller = std::this_thread::get_id();
    pool(static_cast<std::size_t>(threads), [&](std::size_t) {
      ++begun;  // waits until all have begun, so each runs on another thread
      if (!eventually([&] { return begun == threads; })) in_time = false;
      if (std::this_thread::get_id() == caller) ++on_caller;
    });
    CHECK(in_time);
    CHECK(on_caller == 1);
  }
}

TEST_CASE("each thread begins with the same indices in every call", "[thread pool]") {
  pw::ThreadPool pool(2);
  for (int call = 0; call < 50; ++call) {
    std::atomic<int> arrived{0};
    std::thread::id who[2];
    pool(2, [&](std::size_t i) {
      who[i] = std::this_thread::get_id();
      ++arrived;
      while (arrived < 2) std::this_thread::yield();  // so that each thread takes one
    });
    CHECK(who[0] == std::this_thread::get_id());
    CHECK(who[1] != std::this_thread::get_id());
  }
}

TEST_CASE("a call returns when all of its work is done", "[thread pool]") {
  pw::ThreadPool pool(4);
  std::vector<long> values(64, 0);
  const long calls = 500;
  for (long n = 0; n < calls; ++n) pool(values.size(), [&](std::size_t i) { ++values[i]; });
  CHECK(values == std::vector<long>(values.size(), calls));

  // the caller finishes first, by less and by more than its spin time
  pw::ThreadPool pair(2);
  const auto caller = std::this_thread::get_id();
  for (const auto delay : {std::chrono::microseconds(1), std::chrono::microseconds(3000)}) {
    std::atomic<int> begun{0};
    int ended_late = 0;  // written by the one worker
    pair(2, [&](std::size_t) {
      ++begun;
      eventually([&] { return begun == 2; });
      if (std::this_thread::get_id() == caller) return;
      std::this_thread::sleep_for(delay);
      ++ended_late;
    });
    CHECK(ended_late == 1);
  }
}

TEST_CASE("a pool without threads is rejected", "[thread pool]") {
  for (const int threads : {0, -3}) {
    std::string message;
    try {
      const pw::ThreadPool pool(threads);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("threads = " + std::to_string(threads) + ": expected at least 1") !=
          std::string::npos);
  }
}

TEST_CASE("two threads may call one pool at once", "[thread pool]") {
  pw::ThreadPool pool(3);

  std::atomic<int> right{0};
  const auto caller = [&] {
    for (int n = 0; n < 300; ++n) right += calls_each_once(pool, 10) ? 1 : 0;
  };
  std::thread other(caller);
  caller();
  other.join();
  CHECK(right == 600);

  // calls that can only end when both have begun, so neither waits for the other
  std::atomic<int> begun{0};
  std::atomic<bool> in_time{true};
  const auto meeting = [&](std::size_t i) {
    if (i > 0) return;
    ++begun;
    if (!eventually([&] { return begun == 2; })) in_time = false;
  };
  std::thread second([&] { pool(5, meeting); });
  pool(5, meeting);
  second.join();
  CHECK(in_time);
}

TEST_CASE("a call from inside work runs on its thread only", "[thread pool]") {
  pw::ThreadPool pool(3);
  pw::ThreadPool another(2);
  std::atomic<int> calls{0};
  std::atomic<int> elsewhere{0};
  pool(2, [&](std::size_t) {  // one thread of each pool is free
    const auto here = std::this_thread::get_id();
    const auto inner = [&](std::size_t) {
      ++calls;
      if (std::this_thread::get_id() != here) ++elsewhere;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    pool(20, inner);
    another(20, inner);
    another(2, [&](std::size_t) { pool(10, inner); });
  });
  CHECK(calls == 120);
  CHECK(elsewhere == 0);
  // the next call runs on several threads again
  std::atomic<int> begun{0};
  std::atomic<bool> in_time{true};
  pool(2, [&](std::size_t) {
    ++begun;
    if (!eventually([&] { return begun == 2; })) in_time = false;
  });
  CHECK(in_time);
}

TEST_CASE("a pool may be destroyed at any time, with or without a call", "[thread pool]") {
  for (int n = 0; n < 300; ++n) {
    pw::ThreadPool pool(4);
    if (n % 3 == 1) pool(8, [](std::size_t) {});
  }
  SUCCEED("no hang, no crash");
}

TEST_CASE("a call allocates nothing", "[thread pool]") {
  pw::ThreadPool pool(4);
  const long before = news;
  ::operator delete(::operator new(3));  // a direct call, which the compiler may not elide
  const long counted = news - before;    // read before Catch2 allocates
  CHECK(counted == 1);

  std::atomic<long> sum{0};
  const pw::ExecutorRef executor = pool;
  const long start = news;
  for (int n = 0; n < 200; ++n) {
    pool(10, [&](std::size_t i) { sum += static_cast<long>(i); });
    executor(10, [&](std::size_t i) { sum += static_cast<long>(i); });
  }
  const long made = news - start;
  CHECK(made == 0);
  CHECK(sum == 400 * 45);
}

TEST_CASE("an idle pool takes no processor time", "[thread pool]") {
#if PROPWASH_HAS_FORK  // on other systems std::clock may be wall time
  pw::ThreadPool pool(4);
  pool(1000, [](std::size_t) {});
  std::this_thread::sleep_for(milliseconds(20));
  const auto start = std::clock();
  std::this_thread::sleep_for(milliseconds(200));
  const double used = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  // one spinning worker would take up to 0.2 s, or 0.04 s if it shares its core with four others
  CHECK(used < 0.02);
#else
  PROPWASH_SKIP("the processor time of the process is not known here");
#endif
}

TEST_CASE("a pool works in a forked child", "[thread pool]") {
#if !defined(PROPWASH_NO_FORK)
  auto pool = std::make_unique<pw::ThreadPool>(3);
  const auto works = [&] { return calls_each_once(*pool, 100) && calls_each_once(*pool, 7); };
  CHECK(works());
  CHECK(in_child(works));
  CHECK(in_child([&] { return works() && in_child(works) && works(); }));
  CHECK(in_child([&] {
    const bool right = works();
    pool.reset();
    return right;
  }));
  CHECK(in_child([&] {
    pool.reset();  // without a call
    return true;
  }));
  CHECK(in_child([&] {  // two threads call at the same time, before the child has workers
    std::atomic<int> right{0};
    std::thread other([&] { right += works() ? 1 : 0; });
    right += works() ? 1 : 0;
    other.join();
    return right == 2;
  }));
  CHECK(in_child([&] {  // the child's workers work
    std::atomic<int> begun{0};
    std::atomic<bool> in_time{true};
    (*pool)(3, [&](std::size_t) {
      ++begun;
      if (!eventually([&] { return begun == 3; })) in_time = false;
    });
    return in_time.load();
  }));
  CHECK(works());  // and the parent's still work
#else
  PROPWASH_SKIP(PROPWASH_NO_FORK);
#endif
}

TEST_CASE("a process may fork while a call is in progress", "[thread pool]") {
#if !defined(PROPWASH_NO_FORK)
  auto pool = std::make_unique<pw::ThreadPool>(3);
  const auto works = [&] { return calls_each_once(*pool, 100); };
  const auto ends = [&] {
    const bool right = works();
    pool.reset();
    return right;
  };

  SECTION("during its work") {
    std::atomic<int> begun{0};
    std::atomic<bool> released{false};
    std::atomic<bool> in_time{true};
    std::thread caller([&] {
      (*pool)(3, [&](std::size_t) {
        ++begun;
        if (!eventually([&] { return released.load(); })) in_time = false;
      });
    });
    CHECK(eventually([&] { return begun == 3; }));
    CHECK(in_child(works));
    CHECK(in_child(ends));
    released = true;
    caller.join();
    CHECK(in_time);
  }
  SECTION("at random times") {
    std::atomic<bool> stop{false};
    std::thread caller([&] {
      while (!stop) (*pool)(5, [](std::size_t) {});
    });
    int right = 0;
    for (int n = 0; n < 60; ++n) right += (n % 2 == 0 ? in_child(works) : in_child(ends)) ? 1 : 0;
    CHECK(right == 60);
    stop = true;
    caller.join();
  }
  CHECK(works());
#else
  PROPWASH_SKIP(PROPWASH_NO_FORK);
#endif
}

TEST_CASE("any executor can be passed by reference", "[executor]") {
  static_assert(std::is_trivially_copyable_v<pw::ExecutorRef>);
  static_assert(sizeof(pw::ExecutorRef) == 2 * sizeof(void*));

  const auto each_once = [](pw::ExecutorRef executor) { return calls_each_once(executor, 20); };
  pw::ThreadPool pool(2);
  const pw::Inline in_line;
  CHECK(each_once({}));
  CHECK(each_once(in_line));
  CHECK(each_once(pw::Inline{}));
  CHECK(each_once(pool));

  int called = 0;
  const auto backwards = [&called](std::size_t count, const auto& work) {
    ++called;
    while (count > 0) work(--count);
  };
  CHECK(each_once(backwards));
  CHECK(called == 1);
  const pw::ExecutorRef first = backwards;
  const pw::ExecutorRef copy = first;  // refers to the executor, not to the reference
  CHECK(each_once(copy));
  CHECK(called == 2);
}

TEST_CASE("Inline keeps the order and the thread", "[executor]") {
  std::vector<std::size_t> order;
  const auto caller = std::this_thread::get_id();
  bool here = true;
  pw::Inline{}(5, [&](std::size_t i) {
    order.push_back(i);
    here = here && std::this_thread::get_id() == caller;
  });
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(here);
}
