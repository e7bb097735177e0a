# propwash_mujoco: the C library of MuJoCo for the examples; not defined if it is not found.
#
# Tries its CMake package, then the Python package (mujoco-core, mujoco before 4), which has headers and
# library but no CMake package.
function(propwash_find_mujoco)
  find_package(mujoco CONFIG QUIET)
  if(TARGET mujoco::mujoco)
    add_library(propwash_mujoco INTERFACE)
    target_link_libraries(propwash_mujoco INTERFACE mujoco::mujoco)
    return()
  endif()
  set(places)
  file(TO_CMAKE_PATH "$ENV{CMAKE_PREFIX_PATH}" environment)
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH environment)
    list(APPEND places "${prefix}/mujoco")
  endforeach()
  find_path(PROPWASH_MUJOCO_HEADER mujoco/mujoco.h HINTS ${places} PATH_SUFFIXES include)
  mark_as_advanced(PROPWASH_MUJOCO_HEADER)
  if(NOT PROPWASH_MUJOCO_HEADER)
    return()
  endif()
  # the library of the wheel has its version in its name
  get_filename_component(root "${PROPWASH_MUJOCO_HEADER}" DIRECTORY)
  file(GLOB libraries "${root}/libmujoco.so*" "${root}/libmujoco*.dylib")
  find_library(PROPWASH_MUJOCO_LIBRARY mujoco HINTS "${root}/lib")
  mark_as_advanced(PROPWASH_MUJOCO_LIBRARY)
  if(PROPWASH_MUJOCO_LIBRARY)
    list(APPEND libraries "${PROPWASH_MUJOCO_LIBRARY}")
  endif()
  if(NOT libraries)
    return()
  endif()
  list(GET libraries 0 library)
  add_library(propwash_mujoco SHARED IMPORTED)
  set_target_properties(
    propwash_mujoco PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES
                                                              "${PROPWASH_MUJOCO_HEADER}")
endfunction()
