/// @file
/// Catch2's runner, compiled once for all tests. Its exit codes differ by version (v2 counts
/// failures); here they are 0 for success, 4 for success with skipped tests and 1 for failure.

#if !__has_include(<catch2/catch_test_macros.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/internal/catch_test_failure_exception.hpp>
#endif

void end_test_case() {
#if __has_include(<catch2/catch_test_macros.hpp>)
  Catch::throw_test_failure_exception();
#else
  throw Catch::TestFailureException();
#endif
}

int main(int argc, char* argv[]) {
  Catch::Session session;
  const int usage = session.applyCommandLine(argc, argv);
  if (usage != 0) {
    return usage;
  }
  const int result = session.run();
#if !__has_include(<catch2/catch_test_macros.hpp>)
  const auto& config = session.configData();
  if (config.listTests || config.listTestNamesOnly || config.listTags || config.listReporters) {
    return result;  // the number of listed tests, which Catch2's CMake code expects
  }
#endif
  if (result != 0) {
    return 1;
  }
  return skipped_tests() > 0 ? 4 : 0;
}
