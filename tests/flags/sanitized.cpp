/// @file
/// Under a sanitizer, inlining is not forced: see docs/embedding.md.

#include <propwash/math/config.hpp>

#if PROPWASH_FORCE_INLINE
#error "expected PROPWASH_FORCE_INLINE = 0 under a sanitizer"
#endif
