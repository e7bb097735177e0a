#pragma once
/// @file
/// Checks of many numbers, compiled with full optimisation.

#include <cstddef>

namespace propwash::bindings {

/// Index of the first number that is not finite, or -1.
std::ptrdiff_t first_not_finite(const float* numbers, std::ptrdiff_t count);
std::ptrdiff_t first_not_finite(const double* numbers, std::ptrdiff_t count);
/// Whether the magnitude of every number is less than `bound`.
bool all_within(const float* numbers, std::size_t count, float bound);
bool all_within(const double* numbers, std::size_t count, double bound);

}  // namespace propwash::bindings
