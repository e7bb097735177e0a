# The kernels of fleets and scenes (kernels.cpp), of images and of open-loop windows, compiled
# once for each instruction set and number type. Only these sources use more than the baseline
# instruction set of the platform; dispatch.cpp selects a set at run time. They do not fuse products
# and sums, so that the results of all sets are bitwise equal. Only peak.cpp, a benchmark, does.

# propwash_kernels(<isa> <constraint of a register in inline assembly> <flags>...)
function(propwash_kernels isa register)
  foreach(number float double)
    set(unit "${isa}_${number}")
    set(target "propwash_kernels_${unit}")
    set(sources kernels/kernels.cpp kernels/peak.cpp)
    if(number STREQUAL "float") # images are rendered in float
      list(APPEND sources kernels/image_kernels.cpp)
    else() # derivatives are computed in double
      list(APPEND sources kernels/open_loop_kernels.cpp kernels/trace_kernels.cpp)
    endif()
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PRIVATE propwash::propwash propwash_warnings)
    set_target_properties(
      ${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                           VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD ON)
    target_compile_definitions(
      ${target} PRIVATE PROPWASH_KERNELS_UNIT=${unit} PROPWASH_KERNELS_NUMBER=${number}
                        PROPWASH_KERNELS_REGISTER="${register}")
    list(TRANSFORM ARGN PREPEND "${_propwash_clang}" OUTPUT_VARIABLE machine)
    target_compile_options(${target} PRIVATE ${_propwash_numbers} ${machine})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # partial redundancy elimination keeps more values alive than there are registers
      target_compile_options(${target} PRIVATE -fno-tree-pre)
    endif()
    target_sources(_core PRIVATE $<TARGET_OBJECTS:${target}>)
  endforeach()
endfunction()

set_source_files_properties(
  kernels/peak.cpp PROPERTIES COMPILE_OPTIONS "${_propwash_clang}-ffp-contract=fast"
                              SKIP_UNITY_BUILD_INCLUSION ON)
set_source_files_properties(kernels/trace_kernels.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

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

# without -mtune, v4 code is up to 7 % slower on processors that support v4; v3 code is not
set(_propwash_flags_v3 x -march=x86-64-v3)
set(_propwash_flags_v4 v -march=x86-64-v4 -mtune=icelake-server)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(_propwash_flags_baseline w) # NEON
else()
  set(_propwash_flags_baseline x)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These options save a quarter of the compile time without loss of speed in registers of two or
    # four lanes. With v4 they would slow float64 vehicles of general form by a tenth.
    list(APPEND _propwash_flags_baseline -fno-gcse -fno-gcse-after-reload -fno-ipa-cp-clone
         --param=sccvn-max-alias-queries-per-access=100)
  endif()
endif()
foreach(isa IN LISTS _propwash_sets)
  propwash_kernels(${isa} ${_propwash_flags_${isa}})
  string(TOUPPER ${isa} _propwash_name)
  target_compile_definitions(propwash_glue PRIVATE PROPWASH_KERNELS_${_propwash_name})
endforeach()
