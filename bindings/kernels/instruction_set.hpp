#pragma once
/// @file
/// The instruction sets of the kernels and the one that is used.

#include <stdexcept>
#include <vector>

#include "kernel_sets.hpp"  // generated: PROPWASH_KERNEL_SETS, the sets that were built

namespace propwash::bindings {

enum class InstructionSet { baseline, v3, v4 };

const char* name_of(InstructionSet set);

/// The sets that were built and that this processor supports, the widest last. Throws
/// std::runtime_error if there is none.
const std::vector<InstructionSet>& supported_sets();

/// The widest of them, or the one that the environment variable PROPWASH_ISA names. The results of
/// all sets are bitwise equal. Throws std::invalid_argument for a set that is not supported.
InstructionSet used_set();

#define PROPWASH_KERNEL_CASE(isa, space, number) \
  case InstructionSet::isa:                      \
    return space::isa##_##number();

/// What the function `space::<set>_<number>` of the given set returns.
#define PROPWASH_KERNELS_OF(set, space, number)                       \
  [](InstructionSet which) {                                          \
    switch (which) {                                                  \
      PROPWASH_KERNEL_SETS(PROPWASH_KERNEL_CASE, space, number)       \
      default:                                                        \
        throw std::logic_error("no kernels of this instruction set"); \
    }                                                                 \
  }(set)

/// Declares Type space::<set>_<number>() for each set that was built.
#define PROPWASH_DECLARE_KERNEL(isa, Type, number) Type isa##_##number();
#define PROPWASH_DECLARE_KERNELS(space, Type, number)         \
  namespace space {                                           \
  PROPWASH_KERNEL_SETS(PROPWASH_DECLARE_KERNEL, Type, number) \
  }

}  // namespace propwash::bindings
