# Finds Eigen >= 3.4 as Eigen3::Eigen; used by propwash's own build and by its installed package.
#
#     propwash_find_eigen([prefix...])    # additional search prefixes
#
# The request is unversioned, because Eigen's version files refuse a range and "3.4" refuses 5.
# It also searches <site-packages>/cmeel.prefix, where the Python package cmeel-eigen installs Eigen.
# Sets PROPWASH_EIGEN_PROBLEM to the reason of a failure; empty on success.

function(propwash_find_eigen)
  set(PROPWASH_EIGEN_PROBLEM "" PARENT_SCOPE)
  if(TARGET Eigen3::Eigen) # defined by the parent project
    return()
  endif()
  set(places)
  file(TO_CMAKE_PATH "$ENV{CMAKE_PREFIX_PATH}" environment)
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH environment)
    list(APPEND places "${prefix}/cmeel.prefix")
  endforeach()
  find_package(Eigen3 CONFIG QUIET HINTS ${places} ${ARGN})
  if(NOT Eigen3_FOUND)
    find_program(PROPWASH_PYTHON3 NAMES python3 python)
    mark_as_advanced(PROPWASH_PYTHON3)
    if(PROPWASH_PYTHON3)
      execute_process(
        COMMAND "${PROPWASH_PYTHON3}" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
        OUTPUT_VARIABLE purelib OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      find_package(Eigen3 CONFIG QUIET HINTS "${purelib}/cmeel.prefix")
    endif()
  endif()
  if(NOT TARGET Eigen3::Eigen)
    set(PROPWASH_EIGEN_PROBLEM "none" PARENT_SCOPE)
  elseif(Eigen3_VERSION VERSION_LESS 3.4)
    set(PROPWASH_EIGEN_PROBLEM "${Eigen3_VERSION} in ${Eigen3_DIR}" PARENT_SCOPE)
  endif()
endfunction()
