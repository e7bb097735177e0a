// The random numbers of a fleet: a vehicle's do not depend on other vehicles, and the normals of
// lanes equal those of single vehicles. Statistical tests use fixed seeds; each states the
// probability that an ideal generator fails it.
#include <array>
#include <propwash/fleet/thread_pool.hpp>

#include "catch.hpp"
#include "fleet_engine.hpp"

namespace test_fleet_random {

namespace pw = propwash;
using pw::FleetField;
using pw::Stream;

namespace {

constexpr std::size_t size = 203;

pw::FleetOptions numbered(std::uint32_t first_id = 0, std::uint64_t seed = 21) {
  pw::FleetOptions options;
  options.seed = seed;
  options.first_id = first_id;
  options.turbulence = {3.0, 20.0, 5.0};
  return options;
}

pw::VehicleParameters noisy() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.gyroscope_bias_initial = 0.01;
  vehicle.imu.accelerometer_bias_initial = 0.1;
  vehicle.motor.command_delay = 0.0026;
  return vehicle;
}

/// The rows of vehicles `first` to `last`.
template <class T>
std::vector<T> part_of(const pw::Fleet<pw::Multicopter<>, T>& fleet, std::size_t first,
                       std::size_t last) {
  std::vector<T> part;
  const auto add = [&](const std::vector<T>& all, std::size_t width) {
    for (std::size_t k = first * width; k < last * width; ++k) part.push_back(all[k]);
  };
  for (const auto field :
       {FleetField::position, FleetField::velocity, FleetField::attitude, FleetField::body_rates,
        FleetField::rotor_speeds, FleetField::rotor_command, FleetField::accelerometer_bias,
        FleetField::gyroscope_bias}) {
    add(rows(fleet, field), static_cast<std::size_t>(fleet.width(field)));
  }
  std::vector<T> force(3 * fleet.size()), rate(3 * fleet.size());
  fleet.read_imu(force, rate);
  add(force, 3), add(rate, 3);
  return part;
}

/// Simulates `count` vehicles from `first_id` on for 60 steps, in calls of `substeps`.
template <class T>
pw::Fleet<pw::Multicopter<>, T> simulated(std::size_t count, std::uint32_t first_id,
                                          int substeps = 10, pw::ExecutorRef executor = {}) {
  auto fleet = make_fleet<T>(noisy(), count, numbered(first_id));
  for (int step = 0; step < 60; step += substeps) {
    // commands change every ten steps, for any grouping of calls
    fly(fleet, true, fleet_commands<T>(step / 10, fleet.vehicle(), count, first_id), substeps,
        executor);
  }
  return fleet;
}

template <class T>
void check_independence() {
  const auto all = simulated<T>(size, 0);
  const auto of_all = [&](std::size_t first, std::size_t last) {
    return part_of(all, first, last);
  };
  const auto everyone = of_all(0, size);
  // halves that do not fill whole blocks
  CHECK(same_bits(part_of(simulated<T>(101, 0), 0, 101), of_all(0, 101)));
  CHECK(same_bits(part_of(simulated<T>(102, 101), 0, 102), of_all(101, size)));
  for (const std::uint32_t alone : {0u, 6u, 202u}) {
    CHECK(same_bits(part_of(simulated<T>(1, alone), 0, 1), of_all(alone, alone + 1)));
  }
  CHECK(same_bits(part_of(simulated<T>(size, 0, 1), 0, size), everyone));
  CHECK(same_bits(part_of(simulated<T>(size, 0, 2), 0, size), everyone));
  CHECK(same_bits(part_of(simulated<T>(size, 0, 5), 0, size), everyone));
  pw::ThreadPool pool(2);
  CHECK(same_bits(part_of(simulated<T>(size, 0, 10, pool), 0, size), everyone));
  // other ids have other noise
  CHECK_FALSE(same_bits(part_of(simulated<T>(1, 203), 0, 1), of_all(0, 1)));
}

/// Φ, the distribution function of the standard normal.
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

constexpr std::uint64_t seed = 0x5eed0f0123456789;

/// Six normals for each of N vehicles at a step.
template <class T, int N>
pw::NormalsOf<pw::Pack<T, N>> drawn(std::uint32_t first_id, std::uint64_t step, Stream stream) {
  std::uint32_t ids[N];
  for (std::uint32_t lane = 0; lane < N; ++lane) ids[lane] = first_id + lane;
  return pw::lane_normals<T, N>(seed, ids, step, stream);
}

template <class T, int N, class Same>
void check_lanes(Same&& same) {
  bool all_same = true;
  for (std::uint64_t n = 0; n < 20000; ++n) {
    const auto id = static_cast<std::uint32_t>(n * 2654435761u);
    const std::uint64_t step = n << (n % 45);
    const auto stream = static_cast<Stream>(n % 7);
    const auto z = drawn<T, N>(id, step, stream);
    for (int lane = 0; lane < N; ++lane) {
      const auto one = pw::six_normals(seed, id + static_cast<std::uint32_t>(lane), step, stream);
      for (int i = 0; i < 6; ++i) all_same = all_same && same(z[i][lane], one[i]);
    }
  }
  CHECK(all_same);
}

/// √n times a correlation of standard normals and of their squares.
struct Correlation {
  double sum = 0.0, sum_of_squares = 0.0;
  int n = 0;

  void add(double a, double b) {
    sum += a * b, sum_of_squares += (a * a - 1.0) * (b * b - 1.0) / 2.0, ++n;
  }
  double largest() const {
    return std::max(std::abs(sum), std::abs(sum_of_squares)) / std::sqrt(n);
  }
};

}  // namespace

TEST_CASE("a vehicle is bitwise independent of other vehicles and the executor", "[fleet]") {
  SECTION("in float") { check_independence<float>(); }
  SECTION("in double") { check_independence<double>(); }
}

TEST_CASE("a number of rotors fixed at compile time gives bitwise equal results", "[fleet]") {
  auto dynamic = make_fleet<float>(noisy(), 9, numbered());
  pw::Fleet<pw::Multicopter<4>, float> fixed(noisy(), 9, numbered(), &test_kernels<float>);
  for (int call = 0; call < 5; ++call) {
    const auto commands = fleet_commands<float>(call, noisy(), 9);
    dynamic.step(commands.rate_thrust(), 10);
    fixed.step(commands.rate_thrust(), 10);
  }
  std::vector<float> position(27);
  fixed.read(FleetField::position, position);
  CHECK(same_bits(position, rows(dynamic, FleetField::position)));
  CHECK_THROWS_AS((pw::Fleet<pw::Multicopter<4>, float>(pw::vehicles::hexacopter(), 1, {},
                                                        &test_kernels<float>)),
                  pw::ParameterError);
}

TEST_CASE("a reset gives new noise, a reset with the seed repeats it", "[fleet]") {
  auto fleet = make_fleet<float>(noisy(), 5, numbered());
  const auto fresh = everything_of(fleet);
  fly(fleet, true, 0, 6, 10);
  const auto first = everything_of(fleet);
  const auto biases = rows(fleet, FleetField::gyroscope_bias);
  fleet.reset();
  CHECK(fleet.steps() == 60);
  fly(fleet, true, 0, 6, 10);
  const auto second = rows(fleet, FleetField::gyroscope_bias);
  for (std::size_t k = 0; k < biases.size(); ++k) CHECK(second[k] != biases[k]);
  CHECK_FALSE(same_bits(everything_of(fleet), first));

  fleet.reset({}, 21);
  CHECK(fleet.steps() == 0);
  CHECK(same_bits(everything_of(fleet), fresh));
  fly(fleet, true, 0, 6, 10);
  CHECK(same_bits(everything_of(fleet), first));

  fleet.reset({}, 22);
  CHECK_FALSE(same_bits(everything_of(fleet), fresh));
  auto other = make_fleet<float>(noisy(), 5, numbered(0, 22));
  fly(fleet, true, 0, 6, 10);
  fly(other, true, 0, 6, 10);
  CHECK(same_bits(everything_of(fleet), everything_of(other)));
}

TEST_CASE("the normals of lanes are those of each vehicle", "[fleet][random]") {
  const auto bits = [](double z, float one) { return z == double{one}; };
  constexpr int lanes = pw::NativePack<float>::lanes;  // normals are drawn in floats
  check_lanes<double, lanes / 2>(bits);
  check_lanes<double, lanes>(bits);
  // equal to a few units in the last place of a number of order 1, because of fused operations
  const auto near = [](float z, float one) {
    return std::abs(z - one) <= 1e-6f * std::max(1.0f, std::abs(one));
  };
  check_lanes<float, 4>(near);
  check_lanes<float, lanes>(near);
}

TEST_CASE("the normals of lanes follow the normal distribution", "[fleet][random]") {
  // moments: 6 deviates below 5, probability of failure 4e-6; 256 cells: below 4.9, 1e-6;
  // Kolmogorov and Smirnov: below 2.7, 9e-7
  constexpr int blocks = 50000;
  std::vector<double> sample;
  for (std::uint64_t n = 0; n < blocks; ++n) {
    const auto z = drawn<float, 4>(static_cast<std::uint32_t>(4 * (n % 1000)), n / 1000,
                                   Stream::process_noise);
    for (int i = 0; i < 6; ++i) {
      for (int lane = 0; lane < 4; ++lane) sample.push_back(double{z[i][lane]});
    }
  }
  const double n = static_cast<double>(sample.size());
  const double moment[13] = {1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395};
  for (int p = 1; p <= 6; ++p) {
    double sum = 0.0;
    for (const double z : sample) sum += std::pow(z, p);
    const double deviation = std::sqrt((moment[2 * p] - moment[p] * moment[p]) / n);
    CAPTURE(p, sum / n);
    CHECK(std::abs(sum / n - moment[p]) < 5.0 * deviation);
  }

  std::sort(sample.begin(), sample.end());
  std::vector<double> counts(256);
  double apart = 0.0;
  for (std::size_t k = 0; k < sample.size(); ++k) {
    const double cdf = normal_cdf(sample[k]);
    ++counts[static_cast<std::size_t>(256.0 * cdf)];
    const double below = static_cast<double>(k) / n;
    apart = std::max({apart, cdf - below, below + 1.0 / n - cdf});
  }
  CHECK(apart * std::sqrt(n) < 2.7);
  double chi_square = 0.0;
  for (const double count : counts) chi_square += (count - n / 256) * (count - n / 256) / (n / 256);
  const double spread = 2.0 / (9.0 * 255.0);  // Wilson and Hilferty
  CHECK(std::abs(std::cbrt(chi_square / 255.0) - (1.0 - spread)) / std::sqrt(spread) < 4.9);
}

TEST_CASE("lanes, steps and streams are uncorrelated", "[fleet][random]") {
  // 36 pairs of components of 9 pairs of draws, twice each: 648 deviates below 5.5, probability of
  // failure 3e-5
  constexpr int n = 20000;
  const auto base = [](std::uint64_t k) { return drawn<double, 4>(8, k, Stream::process_noise); };
  std::array<std::array<Correlation, 36>, 9> pairs{};
  for (std::uint64_t k = 0; k < n; ++k) {
    const auto a = base(k);
    const auto next = base(k + 1);
    const auto far = base(k + (std::uint64_t{1} << 32));
    const auto imu = drawn<double, 4>(8, k, Stream::imu_noise);
    const auto walk = drawn<double, 4>(8, k, Stream::imu_bias_walk);
    const auto gust = drawn<double, 4>(8, k, Stream::turbulence);
    const auto block = drawn<double, 4>(12, k, Stream::process_noise);
    for (std::size_t pair = 0; pair < 36; ++pair) {
      const int i = static_cast<int>(pair) / 6;
      const int j = static_cast<int>(pair) % 6;
      for (int lane = 1; lane < 4; ++lane) {
        pairs[static_cast<std::size_t>(lane - 1)][pair].add(a[i][0], a[j][lane]);
      }
      pairs[3][pair].add(a[i][1], next[j][1]);
      pairs[4][pair].add(a[i][2], far[j][2]);
      pairs[5][pair].add(a[i][3], imu[j][3]);
      pairs[6][pair].add(a[i][0], walk[j][0]);
      pairs[7][pair].add(a[i][1], gust[j][1]);
      pairs[8][pair].add(a[i][2], block[j][2]);
    }
  }
  for (const auto& family : pairs) {
    for (const Correlation& pair : family) CHECK(pair.largest() < 5.5);
  }
}

}  // namespace test_fleet_random
