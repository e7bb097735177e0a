# propwash_catch2: Catch2 without its main; not defined if it is not found.
#
# Tries, in this order: an installed v3, an installed v2.13, the single header of v2 in the compiler's
# path or CMAKE_PREFIX_PATH, a download of v3.

foreach(version IN ITEMS 3 2.13)
  find_package(Catch2 ${version} CONFIG QUIET)
  if(Catch2_FOUND)
    break()
  endif()
endforeach()

if(NOT Catch2_FOUND)
  find_path(PROPWASH_CATCH2_HEADER catch2/catch.hpp)
  mark_as_advanced(PROPWASH_CATCH2_HEADER)
  if(NOT PROPWASH_CATCH2_HEADER AND PROPWASH_FETCH AND NOT FETCHCONTENT_FULLY_DISCONNECTED)
    # fetch the archive first, because FetchContent stops the configuration if a download fails
    set(_catch2_archive "${PROJECT_BINARY_DIR}/catch2-3.7.1.tar.gz")
    set(_catch2_sha256 c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c)
    set(_catch2_found "")
    if(EXISTS "${_catch2_archive}")
      file(SHA256 "${_catch2_archive}" _catch2_found)
    endif()
    if(NOT _catch2_found STREQUAL _catch2_sha256)
      message(STATUS "propwash: downloading Catch2 3.7.1")
      file(DOWNLOAD https://github.com/catchorg/Catch2/archive/v3.7.1.tar.gz "${_catch2_archive}"
           STATUS _catch2_status TIMEOUT 60 INACTIVITY_TIMEOUT 15)
      file(SHA256 "${_catch2_archive}" _catch2_found)
    endif()
    if(_catch2_found STREQUAL _catch2_sha256)
      include(FetchContent)
      FetchContent_Declare(Catch2 URL "file://${_catch2_archive}"
                           URL_HASH SHA256=${_catch2_sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON SYSTEM)
      FetchContent_MakeAvailable(Catch2)
      list(APPEND CMAKE_MODULE_PATH "${catch2_SOURCE_DIR}/extras")
      set(Catch2_VERSION 3.7.1)
    else()
      file(REMOVE "${_catch2_archive}")
      message(STATUS "propwash: the download failed: ${_catch2_status}")
    endif()
  endif()
endif()

if(TARGET Catch2::Catch2)
  add_library(propwash_catch2 INTERFACE)
  target_link_libraries(propwash_catch2 INTERFACE Catch2::Catch2)
  include(Catch OPTIONAL)
elseif(PROPWASH_CATCH2_HEADER)
  add_library(propwash_catch2 INTERFACE)
  target_include_directories(propwash_catch2 SYSTEM INTERFACE "${PROPWASH_CATCH2_HEADER}")
  set(Catch2_VERSION "2 (a header in ${PROPWASH_CATCH2_HEADER})")
endif()

if(TARGET propwash_catch2)
  message(STATUS "propwash: Catch2 ${Catch2_VERSION}")
else()
  message(
    WARNING "propwash: Catch2 is missing, so the C++ tests are not built and show as skipped. Install "
            "it (Debian: catch2; any v3 or v2.13) or set CMAKE_PREFIX_PATH to where it is.")
endif()
