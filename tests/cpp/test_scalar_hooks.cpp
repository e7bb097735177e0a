// Every template of math/, model/, integrate/, control/ and the multicopter's equations with
// scalars that have only the documented hooks: the results equal those of double in each lane.
#include <functional>
#include <propwash/control/rate_controller.hpp>
#include <propwash/integrate/integrate.hpp>
#include <propwash/model/car.hpp>
#include <propwash/model/delay.hpp>
#include <propwash/model/downwash.hpp>
#include <propwash/vehicle/make_tick_constants.hpp>
#include <propwash/vehicle/tick.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <vector>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_scalar_hooks {

namespace pw = propwash;
using counting::Counted;
using lanes::Pair;

namespace {

using Numbers = std::vector<double>;

/// Inputs and outputs of a test. Pairs take the inputs of two streams.
class Bench {
 public:
  explicit Bench(std::uint64_t seed) : first_(seed), second_(seed + 1) {}

  template <class T>
  T in(double low, double high) {
    const double a = first_.uniform(low, high);
    const double b = second_.uniform(low, high);
    if constexpr (std::is_same_v<T, Pair>) {
      return T(a, b);
    } else {
      return T(a);
    }
  }
  template <class T>
  pw::Vec3<T> vec3(double scale = 1.0) {
    const T x = in<T>(-scale, scale);
    const T y = in<T>(-scale, scale);
    return {x, y, in<T>(-scale, scale)};
  }
  template <class T>
  pw::Quat<T> quat() {
    const T w = in<T>(0.5, 1.0);
    const auto v = vec3<T>();
    return normalized(pw::Quat<T>{w, v.x, v.y, v.z});
  }
  template <class T, int N>
  pw::SmallArray<T, N> array(int size, double low, double high) {
    pw::SmallArray<T, N> a;
    a.resize(size);
    for (T& x : a) x = in<T>(low, high);
    return a;
  }

  void out(double x) { first_out.push_back(x); }
  void out(const Counted& x) { first_out.push_back(reading(x)); }
  void out(const Pair& x) {
    first_out.push_back(first(x));
    second_out.push_back(second(x));
  }
  template <class T>
  void out(const pw::Vec3<T>& v) {
    out(v.x), out(v.y), out(v.z);
  }
  template <class T>
  void out(const pw::AlongZ<T>& v) {
    out(v.z);
  }
  template <class T>
  void out(const pw::Diag3<T>& v) {
    out(v.x), out(v.y), out(v.z);
  }
  template <class T>
  void out(const pw::Quat<T>& q) {
    out(q.w), out(q.x), out(q.y), out(q.z);
  }
  template <class T>
  void out(const pw::Mat3<T>& m) {
    for (const T& x : m.elements) out(x);
  }
  template <class T, int N>
  void out(const pw::SmallArray<T, N>& a) {
    for (const T& x : a) out(x);
  }
  template <class T, int N>
  void out(const pw::MulticopterState<T, N>& s) {
    out(s.position), out(s.velocity), out(s.attitude), out(s.body_rates), out(s.rotor_speeds);
  }

  Numbers first_out, second_out;

 private:
  Dice first_, second_;
};

/// The functions of math/.
struct Math {
  template <class T>
  void run(Bench& bench) const {
    const auto a = bench.vec3<T>();
    const auto b = bench.vec3<T>();
    const auto q = bench.quat<T>();
    const auto p = bench.quat<T>();
    const T s = bench.in<T>(-2.0, 2.0);
    bench.out((a + b) * s - cross(a, -b) + cwise_product(a, b));
    bench.out(dot(a, b) + norm(a));
    auto c = a;
    c += b, c -= a * 0.5, c *= s;
    bench.out(c);
    const auto m = to_matrix(q);
    bench.out(inverse(m) * a), bench.out(transpose(m)), bench.out(determinant(m));
    bench.out(q * p + q * a), bench.out(q * 2.0);
    bench.out(rotate(q, a)), bench.out(rotate_inverse(q, a));
    bench.out(rotate(q, pw::AlongZ<T>{s}));
    bench.out(pw::from_axis_angle(a, s)), bench.out(pw::Quat<T>::identity());
    bench.out(pw::Mat3<T>::identity());
    bench.out(inverse(pw::Diag3<T>{T(2.0), T(3.0), T(4.0)}));
    bench.out(pw::clamp(s, -1.0, 1.0)), bench.out(pw::signed_sqrt(s));
    bench.out(pw::signed_square(s));
    bench.out(pw::cast<T>(pw::Vec3<double>{1.0, 2.0, 3.0}));
    bench.out(pw::SmallArray<T>::filled(3, s) + pw::SmallArray<T>{s, s, s} * 2.0);
  }
};

/// Models that are not part of the multicopter's derivative.
struct Models {
  template <class T>
  void run(Bench& bench) const {
    bench.out(pw::command_at_voltage(bench.in<T>(0.0, 9.0), 0.9));
    bench.out(pw::held_noise_deviation(T(2.0), T(0.01)));
    const T heading = bench.in<T>(-3.0, 3.0);
    const auto rate =
        pw::car_derivative(pw::CarState<T>{T(1.0), T(2.0), heading}, bench.in<T>(0.0, 5.0),
                           bench.in<T>(-1.0, 1.0), bench.in<T>(-1.0, 1.0), bench.in<T>(-1.0, 1.0));
    const auto moved = rate + rate * 0.5;
    bench.out(moved.x), bench.out(moved.y), bench.out(moved.heading);
    pw::DelayLine<pw::SmallArray<T, 2>, 8> line;
    line.fill(bench.array<T, 2>(2, 0.0, 1.0));
    for (int i = 0; i < 5; ++i) bench.out(line.push(bench.array<T, 2>(2, 0.0, 1.0), 2, 0.25));
    const pw::DownwashParameters<double> jet{0.05, 0.1, 0.9};
    bench.out(pw::downwash_force(jet, bench.in<T>(0.0, 9.0), bench.vec3<T>(), bench.vec3<T>()));
    imu<T, double>(bench);
    imu<T, T>(bench);
  }

  template <class T, class P>
  void imu(Bench& bench) const {
    pw::ImuParameters<double> p;
    p.position = {0.1, -0.2, 0.05};
    p.attitude = pw::from_axis_angle(pw::Vec3<double>{0.0, 0.6, 0.8}, 0.7);
    p.accelerometer_scale = {1.1, 0.9, 1.0};
    p.accelerometer_resolution = 0.125;
    p.gyroscope_range = 0.4;
    for (const bool ideal : {false, true}) {
      const auto device = pw::make_imu_device<P>(ideal ? pw::ImuParameters<double>{} : p);
      const pw::ImuBias<T> bias{bench.vec3<T>(), bench.vec3<T>()};
      const auto rates = bench.vec3<T>();
      const auto force =
          pw::specific_force_at_sensor(device, bench.vec3<T>(9.0), rates, bench.vec3<T>());
      bench.out(pw::accelerometer_reading(device, force, bias, bench.vec3<T>()));
      bench.out(pw::gyroscope_reading(device, pw::angular_rate_at_sensor(device, rates), bias,
                                      bench.vec3<T>()));
      bench.out(pw::random_walk(bias.gyroscope, P(0.1), bench.vec3<T>()));
    }
  }
};

struct Controllers {
  template <class T>
  void run(Bench& bench) const {
    const auto vehicle = pw::vehicles::flightgoggles();
    law<T, pw::Mat3<double>>(bench, vehicle, vehicle.body.inertia);
    law<T, pw::Diag3<double>>(bench, vehicle, {0.0049, 0.0050, 0.0069});
    allocation<T, 4>(bench, vehicle);
    allocation<T, pw::Dynamic>(bench, pw::vehicles::hexacopter());
  }

  template <class T, class Inertia>
  void law(Bench& bench, const pw::VehicleParameters& vehicle, const Inertia& inertia) const {
    auto gains = vehicle.rate_controller;
    gains.integral_bound = {0.01, 0.01, 0.01};
    const auto law = pw::make_rate_control_law<double>(gains, inertia, 0.01);
    pw::RateControllerState<T> memory{};
    for (int i = 0; i < 5; ++i) {
      bench.out(pw::rate_control(law, memory, bench.vec3<T>(), bench.vec3<T>()));
    }
    bench.out(memory.integral), bench.out(memory.filter.derivative);
    bench.out(pw::low_pass(law.filter, pw::LowPassState<T>{}, bench.in<T>(0.0, 1.0)).value);
  }

  template <class T, int N>
  void allocation(Bench& bench, const pw::VehicleParameters& vehicle) const {
    const auto a = pw::make_allocation<double, N>(vehicle.rotors, vehicle.motor);
    const pw::Wrench<T> desired{bench.vec3<T>(0.5), bench.in<T>(-1.0, 9.0)};
    const auto speeds = pw::allocate(a, desired);
    bench.out(speeds);
    const auto attained = pw::attained_wrench(a, speeds);
    bench.out(attained.torque_B), bench.out(attained.thrust);
  }
};

/// The multicopter's equations for one shape, number of rotors and type of parameters, under each
/// integrator.
template <int N, class Shape, bool shared>
struct Flight {
  template <class T>
  void run(Bench& bench) const {
    using P = std::conditional_t<shared, double, T>;
    const auto vehicle = std::is_same_v<Shape, pw::ParallelShape> ? pw::vehicles::flightgoggles()
                                                                  : pw::vehicles::crazyflie();
    const auto model = pw::make_model<P, N, Shape>(vehicle);
    pw::MulticopterState<T, N> x;
    x.position = bench.vec3<T>(), x.velocity = bench.vec3<T>(5.0);
    x.attitude = bench.quat<T>(), x.body_rates = bench.vec3<T>(3.0);
    x.rotor_speeds = bench.array<T, N>(4, 500.0, 2500.0);
    pw::MulticopterInput<T, N> input;
    input.command = bench.array<T, N>(4, 500.0, 2500.0);
    input.wind_W = bench.vec3<T>(), input.force_W = bench.vec3<T>(0.1);
    input.torque_B = bench.vec3<T>(1e-3);
    // std::function makes the compiler build one copy of the equations for all integrators
    using State = pw::MulticopterState<T, N>;
    const std::function<State(const State&)> f = [&](const State& s) {
      return pw::multicopter_derivative(model, s, input);
    };
    bench.out(f(x)), bench.out(pw::specific_force(model, x, input));
    bench.out(pw::projected(model, pw::Euler{}(f, x, 0.01)));
    bench.out(pw::projected(model, pw::Rk4{}(f, x, T(0.01))));
    bench.out(pw::projected(model, pw::SymplecticEuler{}(f, x, 0.01)));
    tick(bench, vehicle, x, input);
  }

  template <class T>
  void tick(Bench& bench, pw::VehicleParameters vehicle, pw::MulticopterState<T, N>& x,
            const pw::MulticopterInput<T, N>& input) const {
    using P = std::conditional_t<shared, double, T>;
    vehicle.imu.position = {0.1, -0.2, 0.05};
    vehicle.imu.attitude = pw::from_axis_angle(pw::Vec3<double>{0.0, 0.6, 0.8}, 0.7);
    vehicle.battery = {14.8, 4.0, 1.5, 4.2, 0.02, 0.01, 10.0, 0.7, 5.0};
    auto c = pw::make_tick_constants<P, N, Shape>(vehicle, vehicle);
    pw::set_time_step(c, vehicle, pw::Integrator::euler, 0.01, true);
    const pw::RateThrust<T> command{bench.vec3<T>(), bench.in<T>(5.0, 15.0)};
    pw::RateControllerState<T> controller{};
    auto speeds = pw::rate_loop(c, controller, bench.vec3<T>(), command);
    const auto delay = [](pw::SmallArray<T, N>& delayed) { delayed = delayed * 0.5; };
    auto battery = pw::battery_at_rest<T>(0.7);
    pw::drive_motors(c.model, speeds, delay, true, [&](const pw::SmallArray<T, N>& commands) {
      const T ratio = bench.in<T>(0.5, 1.0);
      if constexpr (Shape::has_battery_circuit) {
        return pw::discharge(c, battery, ratio, x.rotor_speeds, commands, commands * 0.1);
      }
      return ratio;
    });
    bench.out(speeds), bench.out(battery.rest), bench.out(battery.polarisation);
    const auto z = bench.array<T, 6>(6, -2.0, 2.0);
    const pw::MulticopterInput<T, N, pw::Zero3> held{
        pw::limited(c.model, speeds), {}, pw::noise_force<T>(c, z), pw::noise_torque<T>(c, z)};
    x = pw::step_in_air(pw::Euler{}, c.model, c.lag, x, held, bench.vec3<T>(), true, 0.01);
    bench.out(x);
    const auto bias = pw::random_walk(pw::ImuBias<T>{}, c.imu_deviations, z);
    const auto noise = pw::imu_noise<T>(z, c.imu_deviations);
    const auto reading = pw::imu_read(c.model, c.imu, x, input, bias, noise, 0.0);
    bench.out(reading.specific_force), bench.out(reading.angular_rate);
  }
};

using std::sin;  // for double; other scalars define theirs

/// A custom vehicle, with step().
struct Pendulum {
  template <class T>
  pw::SmallArray<T, 2> derivative(const pw::SmallArray<T, 2>& x, const T& torque) const {
    return {{x[1], torque - sin(x[0])}};
  }
  template <class T>
  pw::SmallArray<T, 2> project(const pw::SmallArray<T, 2>& x) const {
    return {{x[0], pw::clamp(x[1], -0.5, 0.5)}};
  }
};

struct OwnVehicle {
  template <class T>
  void run(Bench& bench) const {
    auto x = bench.array<T, 2>(2, -1.0, 1.0);
    for (int i = 0; i < 10; ++i) x = pw::step(Pendulum{}, x, bench.in<T>(-2.0, 2.0), 0.1);
    bench.out(x);
  }
};

void require_same(const Numbers& actual, const Numbers& expected) {
  REQUIRE(actual.size() == expected.size());
  REQUIRE(actual.size() > 0);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("output " << i);
    CHECK(std::abs(actual[i] - expected[i]) <= 1e-11 * (1.0 + std::abs(expected[i])));
  }
}

template <class Subject>
void require_scalars_agree(const Subject& subject) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Bench plain(seed), shifted(seed + 1), counted(seed), paired(seed);
    subject.template run<double>(plain);
    subject.template run<double>(shifted);
    subject.template run<Counted>(counted);
    subject.template run<Pair>(paired);
    require_same(counted.first_out, plain.first_out);
    require_same(paired.first_out, plain.first_out);
    require_same(paired.second_out, shifted.first_out);
  }
}

template <int N, class Shape>
counting::Tally cost_of_derivative() {
  const auto model = pw::make_model<double, N, Shape>(pw::vehicles::flightgoggles());
  pw::MulticopterState<Counted, N> x;
  x.rotor_speeds = pw::SmallArray<Counted, N>::filled(4, Counted(1000.0));
  pw::MulticopterInput<Counted, N> input;
  input.command = x.rotor_speeds;
  counting::tally = {};
  pw::multicopter_derivative(model, x, input);
  return counting::tally;
}

}  // namespace

TEST_CASE("math needs only the hooks", "[hooks]") { require_scalars_agree(Math{}); }
TEST_CASE("models need only the hooks", "[hooks]") { require_scalars_agree(Models{}); }
TEST_CASE("controllers need only the hooks", "[hooks]") { require_scalars_agree(Controllers{}); }
TEST_CASE("a custom vehicle needs only the hooks", "[hooks]") {
  require_scalars_agree(OwnVehicle{});
}
TEST_CASE("the parallel multicopter needs only the hooks", "[hooks]") {
  require_scalars_agree(Flight<4, pw::ParallelShape, true>{});
  require_scalars_agree(Flight<pw::Dynamic, pw::ParallelShape, false>{});
}
TEST_CASE("the general multicopter needs only the hooks", "[hooks]") {
  require_scalars_agree(Flight<4, pw::GeneralShape, false>{});
  require_scalars_agree(Flight<pw::Dynamic, pw::GeneralShape, true>{});
}

TEST_CASE("known zeros cost no operations", "[hooks]") {
  const auto parallel = cost_of_derivative<4, pw::ParallelShape>();
  const auto general = cost_of_derivative<4, pw::GeneralShape>();
  CHECK(3 * parallel.products < 2 * general.products);
  CHECK(2 * parallel.sums < general.sums);
  CHECK(parallel.quotients == 0);
  CHECK(general.quotients == 0);
  CHECK(parallel.roots == 2);  // the two norms of drag
  const auto dynamic = cost_of_derivative<pw::Dynamic, pw::ParallelShape>();
  CHECK(dynamic.products == parallel.products);
  CHECK(dynamic.sums == parallel.sums);
}

TEST_CASE("RK4 costs four derivatives, Euler one, symplectic Euler two", "[hooks]") {
  using State = pw::SmallArray<Counted, 3>;
  const State x{{Counted(1.0), Counted(2.0), Counted(3.0)}};
  int calls = 0;
  const auto f = [&calls](const State& s) {
    ++calls;
    return s;
  };
  counting::tally = {};
  pw::Rk4{}(f, x, 0.1);
  CHECK(calls == 4);
  // each stage scales and adds once, the sum adds three times and scales twice, the end scales and
  // adds
  CHECK(counting::tally.products == 3 * (3 + 2 + 1));
  CHECK(counting::tally.sums == 3 * (3 + 3 + 1));
  calls = 0;
  counting::tally = {};
  pw::Euler{}(f, x, 0.1);
  CHECK(calls == 1);
  CHECK(counting::tally.products == 3);
  CHECK(counting::tally.sums == 3);
  calls = 0;
  const auto model = pw::make_model<double, 4, pw::ParallelShape>(pw::vehicles::flightgoggles());
  const auto g = [&](const pw::MulticopterState<Counted, 4>& s) {
    ++calls;
    return pw::multicopter_derivative(model, s, pw::MulticopterInput<Counted, 4>{});
  };
  pw::SymplecticEuler{}(g, pw::MulticopterState<Counted, 4>{}, 0.1);
  CHECK(calls == 2);
}

}  // namespace test_scalar_hooks
