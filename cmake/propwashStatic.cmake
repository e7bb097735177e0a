# propwash::static: the common instances of Multicopter and Fleet, compiled once, so that programs that
# link it compile faster. Its optimisation and instruction set are those of the build
# (CMAKE_CXX_FLAGS), and the program must use the same instruction set.
if(PROPWASH_BUILD_STATIC AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library(propwash_static STATIC EXCLUDE_FROM_ALL src/vehicle.cpp src/multicopter.cpp src/multicopter_any.cpp
                                                    src/fleet.cpp src/fleet_float64.cpp src/fleet_kernels.cpp)
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
