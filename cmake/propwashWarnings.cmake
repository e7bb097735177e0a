# What propwash's own programs are compiled with, beside the user's flags; never part of an
# installed target.
add_library(propwash_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(propwash_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
  if(PROPWASH_WERROR)
    target_compile_options(propwash_warnings INTERFACE -Werror)
  endif()
elseif(MSVC)
  target_compile_options(propwash_warnings INTERFACE /W4 $<$<BOOL:${PROPWASH_WERROR}>:/WX>)
endif()
