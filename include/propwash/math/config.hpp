#pragma once
/// @file
/// The library's configuration macros. A consumer may define any of them before the first include,
/// the same for the whole program: the functions of the headers are inline, and one program holds
/// one copy of each.
///
///     PROPWASH_FN       the specifiers of every function on the path of a step
///     PROPWASH_LAMBDA   the attribute of every lambda there: `[&](int i) PROPWASH_LAMBDA { … }`
///     PROPWASH_FORCE_INLINE  1: these two force inlining; 0: they leave it to the compiler
///     PROPWASH_THROW    raises an exception; see below
///
/// Where the compiler optimises, the first two force inlining, because packs and dual numbers must
/// stay in registers across calls. At -O0 they do not: a debugger steps into every function, and a
/// program compiles in half the time. See docs/embedding.md.

/// 1 where functions and lambdas of the models are always inlined.
#if !defined(PROPWASH_FORCE_INLINE)
#if defined(__OPTIMIZE__) || (defined(_MSC_VER) && !defined(_DEBUG))
#define PROPWASH_FORCE_INLINE 1
#else
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

/// 1 where the translation unit is compiled with exceptions.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define PROPWASH_HAS_EXCEPTIONS 1
#else
#define PROPWASH_HAS_EXCEPTIONS 0
#endif

#if !defined(PROPWASH_THROW)
#if PROPWASH_HAS_EXCEPTIONS
/// Raises `exception`, an expression of a type derived from std::exception. Where exceptions are
/// disabled (-fno-exceptions), the default prints what() to stderr and aborts. A macro defined by
/// the consumer must not return, and is used as a statement:
///
///     #define PROPWASH_THROW(exception) my::fail((exception).what())  // [[noreturn]]
#define PROPWASH_THROW(exception) throw exception
#elif defined(__CUDACC_RTC__)
#define PROPWASH_THROW(exception) __trap()
#else
#include <cstdio>
#include <cstdlib>

namespace propwash::detail {
/// What PROPWASH_THROW does without exceptions.
[[noreturn]] inline void abort_with(const char* message) {
  std::fprintf(stderr, "propwash: %s\n", message);
  std::abort();
}
}  // namespace propwash::detail

#define PROPWASH_THROW(exception) ::propwash::detail::abort_with((exception).what())
#endif
#endif
