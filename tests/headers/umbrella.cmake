# propwash.hpp includes exactly the public headers: those outside impl/, except modules and headers
# that have dependencies or users of their own. HEADERS: all, relative to include/propwash.
set(public ${HEADERS})
list(FILTER public EXCLUDE REGEX "/impl/|^(render|paint)/|^world/embree.hpp$|^propwash.hpp$")
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../include/propwash/propwash.hpp" lines
     REGEX "^#include \"propwash/")
set(included "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^#include \"propwash/(.*)\"$" "\\1" header "${line}")
  list(APPEND included "${header}")
endforeach()
set(missing ${public})
list(REMOVE_ITEM missing ${included})
set(extra ${included})
list(REMOVE_ITEM extra ${public})
if(missing OR extra)
  message(FATAL_ERROR "propwash.hpp: public headers missing: [${missing}]; not public: [${extra}]")
endif()
