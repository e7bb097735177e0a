# The render client's targets, for propwash's own build and for its installed package.
#
#     propwash_add_render([prefix...])    # additional search prefixes
#
#   propwash::wire     messages and session of render/, without sockets: needs nlohmann_json
#   propwash::render   the client over ZeroMQ, render/zmq_client.hpp: also needs cppzmq and libzmq
#
# A target is defined if its dependencies are found; otherwise PROPWASH_WIRE_PROBLEM or
# PROPWASH_RENDER_PROBLEM says what is missing. propwash::propwash needs none of them.

function(_propwash_find_json)
  if(TARGET nlohmann_json::nlohmann_json) # defined by the parent project
    return()
  endif()
  find_package(nlohmann_json 3.9 CONFIG QUIET)
  if(nlohmann_json_FOUND)
    set_target_properties(nlohmann_json::nlohmann_json PROPERTIES IMPORTED_GLOBAL TRUE)
    return()
  endif()
  # the Python package nlohmann-json has the headers but no CMake package
  set(places)
  file(TO_CMAKE_PATH "$ENV{CMAKE_PREFIX_PATH}" environment)
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH environment ARGN)
    list(APPEND places "${prefix}/nlohmann_json/include")
  endforeach()
  find_program(PROPWASH_PYTHON3 NAMES python3 python)
  mark_as_advanced(PROPWASH_PYTHON3)
  if(PROPWASH_PYTHON3)
    execute_process(
      COMMAND "${PROPWASH_PYTHON3}" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
      OUTPUT_VARIABLE purelib OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND places "${purelib}/nlohmann_json/include")
  endif()
  find_path(PROPWASH_JSON_HEADER nlohmann/json.hpp HINTS ${places})
  mark_as_advanced(PROPWASH_JSON_HEADER)
  if(PROPWASH_JSON_HEADER)
    add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
    set_target_properties(nlohmann_json::nlohmann_json PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                                  "${PROPWASH_JSON_HEADER}")
  endif()
endfunction()

# Does not use cppzmq's CMake package, because it stops the configuration if libzmq is missing.
function(_propwash_find_zmq)
  find_path(PROPWASH_CPPZMQ_HEADER zmq.hpp)
  find_path(PROPWASH_ZMQ_HEADER zmq.h)
  find_library(PROPWASH_ZMQ_LIBRARY NAMES zmq libzmq)
  mark_as_advanced(PROPWASH_CPPZMQ_HEADER PROPWASH_ZMQ_HEADER PROPWASH_ZMQ_LIBRARY)
endfunction()

function(propwash_add_render)
  set(PROPWASH_WIRE_PROBLEM "" PARENT_SCOPE)
  set(PROPWASH_RENDER_PROBLEM "" PARENT_SCOPE)
  if(TARGET propwash::render)
    return()
  endif()
  _propwash_find_json(${ARGN})
  if(NOT TARGET nlohmann_json::nlohmann_json)
    set(problem "nlohmann_json is missing (Debian: nlohmann-json3-dev, conda: nlohmann_json, pip: nlohmann-json)")
    set(PROPWASH_WIRE_PROBLEM "${problem}" PARENT_SCOPE)
    set(PROPWASH_RENDER_PROBLEM "${problem}" PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET propwash::wire)
    add_library(propwash::wire INTERFACE IMPORTED GLOBAL)
    set_property(TARGET propwash::wire PROPERTY INTERFACE_LINK_LIBRARIES propwash::propwash
                                                nlohmann_json::nlohmann_json)
  endif()
  _propwash_find_zmq()
  if(NOT PROPWASH_CPPZMQ_HEADER OR NOT PROPWASH_ZMQ_HEADER OR NOT PROPWASH_ZMQ_LIBRARY)
    set(PROPWASH_RENDER_PROBLEM
        "cppzmq or libzmq is missing (Debian: cppzmq-dev libzmq3-dev, conda: cppzmq)" PARENT_SCOPE)
    return()
  endif()
  add_library(propwash::render INTERFACE IMPORTED GLOBAL)
  set_target_properties(
    propwash::render
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PROPWASH_CPPZMQ_HEADER};${PROPWASH_ZMQ_HEADER}"
               INTERFACE_LINK_LIBRARIES "propwash::wire;${PROPWASH_ZMQ_LIBRARY}")
endfunction()
