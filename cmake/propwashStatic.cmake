# propwash::static: the usual instances of Multicopter and Fleet, compiled once. What links it
# compiles faster and otherwise uses the headers as before. Optimised for speed where its build is,
# for the instruction set of CMAKE_CXX_FLAGS, which must be that of the program.
if(PROPWASH_BUILD_STATIC AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library(propwash_static STATIC EXCLUDE_FROM_ALL src/multicopter.cpp src/fleet.cpp
                                                    src/fleet_kernels.cpp)
add_library(propwash::static ALIAS propwash_static)
target_link_libraries(propwash_static PUBLIC propwash)
target_compile_definitions(propwash_static PUBLIC PROPWASH_STATIC)
set_target_properties(propwash_static PROPERTIES EXPORT_NAME static POSITION_INDEPENDENT_CODE ON)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(propwash_static PRIVATE -Wno-psabi)
endif()
if(PROPWASH_BUILD_STATIC)
  set_target_properties(propwash_static PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()
