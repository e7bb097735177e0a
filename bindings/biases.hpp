#pragma once
/// @file
/// Biases of the sensors of a fleet, one Gauss-Markov process for each column, compiled with full
/// optimisation. They are float64 for fleets of any type.

#include <cstddef>
#include <vector>

#include "propwash/random/sample_noise.hpp"

namespace propwash::bindings {

/// Writes biases (n, k) to `to`: initial values with these standard deviations for the vehicles of
/// the mask (n), the present bias for the others.
void start_biases(std::size_t n, const double* bias, const bool* mask,
                  const std::vector<double>& deviations, const SampleNoise& noise, double* to);

/// Writes the biases (n, k) after dt [s]. times: correlation times [s].
void advance_biases(std::size_t n, const double* bias, const std::vector<double>& deviations,
                    const std::vector<double>& times, double dt, const SampleNoise& noise,
                    double* to);

}  // namespace propwash::bindings
