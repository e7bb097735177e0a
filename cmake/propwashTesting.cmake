# propwash_skipped_test(<name> <reason>): a test that cannot run here shows in the list of tests as
# skipped, with its reason, instead of being absent.
function(propwash_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()
