# examples/<name>.cpp is one program each, and each is run as a test.
file(GLOB _propwash_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
foreach(source IN LISTS _propwash_examples)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  target_link_libraries(example_${name} PRIVATE propwash::propwash propwash_warnings)
  set_target_properties(
    example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                   "${PROJECT_BINARY_DIR}/examples")
  if(PROPWASH_BUILD_TESTS)
    add_test(NAME example.${name} COMMAND example_${name})
    set_tests_properties(example.${name} PROPERTIES WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
  endif()
endforeach()
