#pragma once
/// @file
/// Configuration macros. A consumer may define any of them before the first include. All
/// translation units of a program must use the same definitions (one-definition rule).
///
///     PROPWASH_FN            specifiers of every function that a step calls
///     PROPWASH_LAMBDA        attribute of every lambda there: `[&](int i) PROPWASH_LAMBDA { … }`
///     PROPWASH_FORCE_INLINE  1: these two force inlining; 0: the compiler decides
///     PROPWASH_THROW         throws an exception; see below
///
/// PROPWASH_FORCE_INLINE defaults to 1 in optimised builds, because packs and dual numbers must
/// stay in registers across calls, and to 0 at -O0, where a debugger can then enter every function
/// and compilation takes half the time. It is 0 under sanitizers too, whose checks multiply the
/// inlined code and the time to compile it. See docs/embedding.md.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROPWASH_IS_SANITIZED 1
#elif defined(__has_feature)
#define PROPWASH_IS_SANITIZED                                             \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
   __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer))
#else
/// Whether a sanitizer instruments the code; GCC does not report -fsanitize=undefined.
#define PROPWASH_IS_SANITIZED 0
#endif

#if !defined(PROPWASH_FORCE_INLINE)
#if !PROPWASH_IS_SANITIZED && (defined(__OPTIMIZE__) || (defined(_MSC_VER) && !defined(_DEBUG)))
#define PROPWASH_FORCE_INLINE 1
#else
/// 1 if functions and lambdas of the models are always inlined.
#define PROPWASH_FORCE_INLINE 0
#endif
#endif

#if !defined(PROPWASH_FN)
#if defined(__CUDACC__)
#define PROPWASH_FN __host__ __device__ inline
#elif !PROPWASH_FORCE_INLINE
#define PROPWASH_FN inline
#elif defined(__GNUC__) || defined(__clang__)
#define PROPWASH_FN inline __attribute__((always_inline))
#if !defined(PROPWASH_LAMBDA)
#define PROPWASH_LAMBDA __attribute__((always_inline))
#endif
#elif defined(_MSC_VER)
#define PROPWASH_FN __forceinline
#else
#define PROPWASH_FN inline
#endif
#endif

#if !defined(PROPWASH_LAMBDA)
#define PROPWASH_LAMBDA
#endif

/// 1 if the translation unit is compiled with exceptions.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define PROPWASH_HAS_EXCEPTIONS 1
#else
#define PROPWASH_HAS_EXCEPTIONS 0
#endif

#if !defined(PROPWASH_THROW)
#if PROPWASH_HAS_EXCEPTIONS
/// Throws `exception`, an expression of a type derived from std::exception. With -fno-exceptions,
/// the default prints what() to stderr and aborts. A definition by the consumer is used as a
/// statement and must not return:
///
///     #define PROPWASH_THROW(exception) my::fail((exception).what())  // [[noreturn]]
#define PROPWASH_THROW(exception) throw exception
#elif defined(__CUDACC_RTC__)
#define PROPWASH_THROW(exception) __trap()
#else
#include <cstdio>
#include <cstdlib>

namespace propwash::detail {
/// The default of PROPWASH_THROW without exceptions.
[[noreturn]] inline void abort_with(const char* message) {
  std::fprintf(stderr, "propwash: %s\n", message);
  std::abort();
}
}  // namespace propwash::detail

#define PROPWASH_THROW(exception) ::propwash::detail::abort_with((exception).what())
#endif
#endif
