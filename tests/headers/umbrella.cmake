# propwash.hpp includes exactly the public headers: those outside impl/, except modules and headers
# with additional dependencies or separate users, and the entry headers (multicopter.hpp, ...), which
# include public headers alone and are named in the README. HEADERS: all, relative to
# include/propwash.
set(root "${CMAKE_CURRENT_LIST_DIR}/../..")
set(entries ${HEADERS})
list(FILTER entries EXCLUDE REGEX "/|^(propwash|fwd|version).hpp$")
set(public ${HEADERS})
list(FILTER public EXCLUDE REGEX "/impl/|^(render|paint)/|^world/embree.hpp$|^propwash.hpp$")
list(REMOVE_ITEM public ${entries})

function(included_by header result)
  file(STRINGS "${root}/include/propwash/${header}" lines REGEX "^#include \"propwash/")
  list(TRANSFORM lines REPLACE "^#include \"propwash/(.*)\"$" "\\1")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()

included_by(propwash.hpp included)
set(missing ${public})
list(REMOVE_ITEM missing ${included})
set(extra ${included})
list(REMOVE_ITEM extra ${public})
if(missing OR extra)
  message(FATAL_ERROR "propwash.hpp: public headers missing: [${missing}]; not public: [${extra}]")
endif()

file(READ "${root}/README.md" readme)
foreach(entry IN LISTS entries)
  included_by(${entry} extra)
  list(REMOVE_ITEM extra ${public})
  if(extra)
    message(FATAL_ERROR "${entry}: expected public headers alone, got [${extra}]")
  endif()
  if(NOT readme MATCHES "`propwash/${entry}`")
    message(FATAL_ERROR "README.md: expected a line about the entry header propwash/${entry}")
  endif()
endforeach()
