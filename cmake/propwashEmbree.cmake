# propwash::embree: for programs that include propwash/world/embree.hpp; defined if Embree 3 or 4 is
# installed (Debian: libembree-dev).
if(NOT TARGET propwash::embree)
  foreach(_propwash_embree_version IN ITEMS 4 3)
    if(NOT TARGET embree)
      find_package(embree ${_propwash_embree_version} CONFIG QUIET)
    endif()
  endforeach()
  if(TARGET embree)
    add_library(propwash_embree INTERFACE)
    add_library(propwash::embree ALIAS propwash_embree)
    target_link_libraries(propwash_embree INTERFACE propwash::propwash embree)
  endif()
endif()
