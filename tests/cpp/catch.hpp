#pragma once
/// @file
/// Catch2 v3 or v2.13, with the names of both.
///
/// PROPWASH_SKIP("reason") ends a test that cannot run, and ctest lists it as skipped. Catch2's
/// SKIP needs v3.3.

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>

/// The number of skipped tests of this program, for the exit code.
inline int& skipped_tests() {
  static int count = 0;
  return count;
}

/// Thrown by a skipped test: Catch2 ends a test case at this exception without a failure.
[[noreturn]] void end_test_case();

/// Skips the rest of the test case; the argument may be a chain of <<.
#define PROPWASH_SKIP(reason)                        \
  do {                                               \
    std::cout << "SKIPPED: " << reason << std::endl; \
    ++skipped_tests();                               \
    end_test_case();                                 \
  } while (false)
