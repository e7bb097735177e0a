# Compile options of propwash's own programs, besides the user's flags; not part of installed targets.
# MSVC is Visual C++ and clang-cl, which takes its flags.
add_library(propwash_warnings INTERFACE)
if(MSVC)
  target_compile_options(propwash_warnings INTERFACE /W4 $<$<BOOL:${PROPWASH_WERROR}>:/WX>)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(propwash_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                                     $<$<BOOL:${PROPWASH_WERROR}>:-Werror>)
endif()
