# Runs FIRST and SECOND, each a list of a program and its arguments: passes where both succeed and print the same.
foreach(program IN ITEMS FIRST SECOND)
  execute_process(COMMAND ${${program}} OUTPUT_VARIABLE printed_${program}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT printed_FIRST STREQUAL printed_SECOND OR printed_FIRST STREQUAL "")
  message(FATAL_ERROR "${FIRST} printed\n${printed_FIRST}and ${SECOND}\n${printed_SECOND}")
endif()
