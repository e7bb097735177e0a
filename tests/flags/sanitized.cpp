/// @file
/// Under a sanitizer, inlining is not forced: GCC would need a quarter of an hour for a vehicle.

#include <propwash/math/config.hpp>

#if PROPWASH_FORCE_INLINE
#error "expected PROPWASH_FORCE_INLINE = 0 under a sanitizer"
#endif
