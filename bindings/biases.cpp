#include "biases.hpp"

#include "propwash/model/gauss_markov.hpp"

namespace propwash::bindings {

namespace {

/// next(row, column, bias, normal) returns a new bias.
template <class Next>
void each_bias(std::size_t n, const double* bias, std::size_t columns, const SampleNoise& noise,
               double* to, const Next& next) {
  double normals[6];
  for (std::size_t i = 0; i < n; ++i) {
    noise.draw(i, 0, columns, normals);
    for (std::size_t k = 0; k < columns; ++k) *to++ = next(i, k, *bias++, normals[k]);
  }
}

}  // namespace

void start_biases(std::size_t n, const double* bias, const bool* mask,
                  const std::vector<double>& deviations, const SampleNoise& noise, double* to) {
  each_bias(n, bias, deviations.size(), noise, to,
            [&](std::size_t i, std::size_t k, double value, double normal) {
              return mask[i] ? gauss_markov_start(deviations[k], normal) : value;
            });
}

void advance_biases(std::size_t n, const double* bias, const std::vector<double>& deviations,
                    const std::vector<double>& times, double dt, const SampleNoise& noise,
                    double* to) {
  std::vector<GaussMarkovStep<double>> steps;
  for (std::size_t k = 0; k < deviations.size(); ++k) {
    steps.push_back(make_gauss_markov_step({deviations[k], times[k]}, dt));
  }
  each_bias(n, bias, steps.size(), noise, to,
            [&](std::size_t, std::size_t k, double value, double normal) {
              return gauss_markov_next(steps[k], value, normal);
            });
}

}  // namespace propwash::bindings
