#pragma once
/// @file
/// Catch2 v3 or v2.13, whichever there is, under the names that both have.
///
/// A test that cannot run says so by PROPWASH_SKIP("why"): it ends there, and ctest lists it as
/// skipped. Catch2's own SKIP exists from v3.3 only.

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

/// How many tests of this program have been skipped; main turns it into the exit code.
inline int& skipped_tests() {
  static int count = 0;
  return count;
}

/// What a skipped test throws: Catch2 ends the test case at its own exception without a failure.
[[noreturn]] void end_test_case();

/// Ends the test case as skipped; the argument may be a chain of <<.
#define PROPWASH_SKIP(reason)                        \
  do {                                               \
    std::cout << "SKIPPED: " << reason << std::endl; \
    ++skipped_tests();                               \
    end_test_case();                                 \
  } while (false)
