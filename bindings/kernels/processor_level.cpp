// Run by CMake: the exit status is the x86-64 level of this processor.
#include "processor.hpp"

int main() { return propwash::bindings::processor_level(); }
