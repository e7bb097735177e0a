#include "instruction_set.hpp"

#include <cstdlib>
#include <string>

#include "processor.hpp"

namespace propwash::bindings {

namespace {

/// The lowest level of x86-64 (see processor_level()) with this instruction set.
int level_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::v3:
      return 3;
    case InstructionSet::v4:
      return 4;
    default:
      return 1;
  }
}

}  // namespace

const char* name_of(InstructionSet set) {
  constexpr const char* names[] = {"baseline", "v3", "v4"};
  return names[static_cast<std::size_t>(set)];
}

const std::vector<InstructionSet>& supported_sets() {
  static const std::vector<InstructionSet> supported = [] {
#define PROPWASH_BUILT(isa, unused1, unused2) InstructionSet::isa,
    constexpr InstructionSet built[] = {PROPWASH_KERNEL_SETS(PROPWASH_BUILT, , )};
#undef PROPWASH_BUILT
    const int level = processor_level();
    std::vector<InstructionSet> found;
    for (const InstructionSet set : built) {
      if (level_of(set) <= level) found.push_back(set);
    }
    if (found.empty()) {
      throw std::runtime_error(
          "propwash was built for the processor of another machine (PROPWASH_KERNELS=native) and "
          "has no kernels for this one; build it here, or with PROPWASH_KERNELS=all");
    }
    return found;
  }();
  return supported;
}

InstructionSet used_set() {
  const auto& supported = supported_sets();
  const char* const requested = std::getenv("PROPWASH_ISA");
  if (requested == nullptr || *requested == '\0') return supported.back();
  std::string names;
  for (const InstructionSet set : supported) {
    if (std::string(requested) == name_of(set)) return set;
    names += (names.empty() ? "" : ", ") + std::string(name_of(set));
  }
  throw std::invalid_argument(
      "PROPWASH_ISA = '" + std::string(requested) +
      "': expected an instruction set that was built and that this processor supports: " + names);
}

}  // namespace propwash::bindings
