# The kernels of fleets, scenes, images and derivatives, compiled once for each instruction set and
# number type. Only these sources use more than the baseline instruction set of the platform;
# instruction_set.hpp selects a set at run time. They do not fuse products and sums, so that the
# results of all sets are bitwise equal. Only peak.cpp, a benchmark, does.

# propwash_kernels(<variable> <kind> <number>...): adds object libraries of the sources of this kind, and
# their names to the variable.
function(propwash_kernels variable kind)
  set(objects ${${variable}})
  foreach(isa IN LISTS _propwash_sets)
    foreach(number IN LISTS ARGN)
      set(target propwash_${kind}_kernels_${isa}_${number})
      propwash_objects(${target} OPTIONS ${_propwash_numbers} ${_propwash_flags_${isa}}
                       SOURCES ${_propwash_sources_${kind}})
      target_compile_definitions(
        ${target} PRIVATE PROPWASH_KERNELS_UNIT=${isa}_${number} PROPWASH_KERNELS_NUMBER=${number}
                          PROPWASH_KERNELS_REGISTER="${_propwash_register_${isa}}")
      # units of different flags share no definitions
      set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
      list(APPEND objects ${target})
    endforeach()
  endforeach()
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()

set(_propwash_sources_peak kernels/peak.cpp)
set(_propwash_sources_quadcopter kernels/quadcopter_kernels.cpp)
set(_propwash_sources_shapes kernels/shape_kernels.cpp)
set(_propwash_sources_fleet kernels/fleet_kernels.cpp)
set(_propwash_sources_world kernels/world_kernels.cpp)
set(_propwash_sources_image kernels/image_kernels.cpp)
set(_propwash_sources_derivative kernels/open_loop_kernels.cpp kernels/trace_kernels.cpp)
set_source_files_properties(
  kernels/peak.cpp PROPERTIES COMPILE_OPTIONS "${_propwash_clang}-ffp-contract=fast")

# PROPWASH_KERNELS=native, for a build that stays on this machine, compiles one set instead of three.
set(PROPWASH_KERNELS all CACHE STRING "Instruction sets of the kernels: all, or native (this processor's)")
set_property(CACHE PROPWASH_KERNELS PROPERTY STRINGS all native)
set(_propwash_sets baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(_propwash_sets baseline v3 v4)
endif()
if(PROPWASH_KERNELS STREQUAL "native")
  try_run(_propwash_level _propwash_level_compiles "${CMAKE_CURRENT_BINARY_DIR}/level"
          "${CMAKE_CURRENT_SOURCE_DIR}/kernels/processor_level.cpp")
  if(_propwash_level EQUAL 3 OR _propwash_level EQUAL 4)
    set(_propwash_sets v${_propwash_level})
  elseif(_propwash_level EQUAL 1)
    set(_propwash_sets baseline)
  else()
    message(FATAL_ERROR "PROPWASH_KERNELS = native: a test program must run on this machine; use all")
  endif()
elseif(NOT PROPWASH_KERNELS STREQUAL "all")
  message(FATAL_ERROR "PROPWASH_KERNELS = ${PROPWASH_KERNELS}: expected all or native")
endif()
message(STATUS "propwash: kernels for ${_propwash_sets}")

# the flags, and the constraint of a register in inline assembly
set(_propwash_register_v3 x)
set(_propwash_flags_v3 -march=x86-64-v3)
# without -mtune, v4 code is up to 7 % slower on processors that support v4; v3 code is not
set(_propwash_register_v4 v)
set(_propwash_flags_v4 -march=x86-64-v4 -mtune=icelake-server)
set(_propwash_flags_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(_propwash_register_baseline w) # NEON
else()
  set(_propwash_register_baseline x)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These options save a quarter of the compile time without loss of speed in registers of two or
    # four lanes. With v4 they would slow float64 vehicles of general form by a tenth.
    set(_propwash_flags_baseline -fno-gcse -fno-gcse-after-reload -fno-ipa-cp-clone
        --param=sccvn-max-alias-queries-per-access=100)
  endif()
endif()
foreach(isa IN LISTS _propwash_sets)
  list(TRANSFORM _propwash_flags_${isa} PREPEND "${_propwash_clang}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # partial redundancy elimination keeps more values alive than there are registers
    list(APPEND _propwash_flags_${isa} -fno-tree-pre)
  endif()
endforeach()

list(TRANSFORM _propwash_sets REPLACE "(.+)" "X(\\1, __VA_ARGS__)" OUTPUT_VARIABLE _propwash_each_set)
list(JOIN _propwash_each_set " " _propwash_each_set)
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/kernel_sets.hpp"
     CONTENT "#pragma once
#define PROPWASH_KERNEL_SETS(X, ...) @_propwash_each_set@
" @ONLY)
