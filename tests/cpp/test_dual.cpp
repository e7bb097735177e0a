// Dual numbers: the chain rule against central differences, second derivatives, kinks, packs; and
// the value part of whole steps, bit-identical to scalars.
#include <functional>
#include <propwash/control/rate_controller.hpp>
#include <propwash/integrate/integrate.hpp>
#include <propwash/math/dual.hpp>
#include <propwash/math/pack.hpp>
#include <propwash/vehicle/make_model.hpp>
#include <propwash/vehicle/tick.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_dual {

namespace pw = propwash;
using Pair = pw::Dual<double, 2>;

namespace {

template <class T>
pw::Vec3<T> seeded(const pw::Vec3<double>& v, int first) {
  return {T::variable(v.x, first), T::variable(v.y, first + 1), T::variable(v.z, first + 2)};
}

}  // namespace

TEST_CASE("partials are central differences", "[dual]") {
  Dice dice(1);
  for (int i = 0; i < 50; ++i) {
    const double x = dice.uniform(0.2, 1.0);
    const double y = dice.uniform(1.3, 2.0);
    const double h = 1e-5;
    const Pair f = tangle(Pair::variable(x, 0), Pair::variable(y, 1));
    CHECK(f.value == tangle(x, y));
    CHECK(f.partials[0] ==
          Approx((tangle(x + h, y) - tangle(x - h, y)) / (2 * h)).epsilon(1e-7).margin(1e-8));
    CHECK(f.partials[1] ==
          Approx((tangle(x, y + h) - tangle(x, y - h)) / (2 * h)).epsilon(1e-7).margin(1e-8));
  }
}

TEST_CASE("quotient inverts product, root inverts square", "[dual]") {
  const auto x = Pair::variable(1.3, 0);
  const auto y = Pair::variable(-0.7, 1);
  const auto same = (x * y) / y;
  CHECK(same.partials[0] == Approx(1.0));
  CHECK(same.partials[1] == Approx(0.0).margin(1e-15));
  const auto root = sqrt(x * x);
  CHECK(root.partials[0] == Approx(1.0));
  const auto one = sin(y) * sin(y) + cos(y) * cos(y);
  CHECK(one.partials[1] == Approx(0.0).margin(1e-15));
}

TEST_CASE("duals of duals give second derivatives", "[dual]") {
  using Outer = pw::Dual<pw::Dual<double, 1>, 1>;
  Outer x(pw::Dual<double, 1>::variable(0.8, 0));
  x.partials[0] = pw::Dual<double, 1>(1.0);
  const Outer f = x * x * x + sin(x);
  CHECK(f.value.partials[0] == Approx(3 * 0.64 + std::cos(0.8)));
  CHECK(f.partials[0].partials[0] == Approx(6 * 0.8 - std::sin(0.8)));
}

TEST_CASE("kinks follow the convention, without NaN", "[dual]") {
  const auto zero = Pair::variable(0.0, 0);
  CHECK(sqrt(zero).partials[0] == 0.0);
  CHECK(sqrt(zero * zero).partials[0] == 0.0);
  CHECK(abs(zero).partials[0] == 1.0);
  CHECK(pw::signed_square(zero).partials[0] == 0.0);
  CHECK(round(Pair::variable(1.2, 0)).partials[0] == 0.0);
  CHECK(pw::clamp(Pair::variable(1.0, 0), 0.0, 1.0).partials[0] == 1.0);
  CHECK(pw::clamp(Pair::variable(1.5, 0), 0.0, 1.0).partials[0] == 0.0);
}

TEST_CASE("a dual of packs is a pack of duals", "[dual]") {
#if PROPWASH_HAS_PACKS
  using Real = pw::NativePack<double>;
  using Wide = pw::Dual<Real, 2>;
  Real x{}, y{};
  for (int lane = 0; lane < Real::lanes; ++lane) x.v[lane] = 0.3 + lane, y.v[lane] = 1.7 + lane;
  const auto f = [](const auto& a, const auto& b) {
    return sqrt(a * a + b * b) / (2.0 + a) + select(a < b, a * b, b) - max(a, b * 0.1);
  };
  const Wide wide = f(Wide::variable(x, 0), Wide::variable(y, 1));
  for (int lane = 0; lane < Real::lanes; ++lane) {
    const Pair one = f(Pair::variable(x[lane], 0), Pair::variable(y[lane], 1));
    CHECK(wide.value[lane] == one.value);
    CHECK(wide.partials[0][lane] == one.partials[0]);
    CHECK(wide.partials[1][lane] == one.partials[1]);
  }
#else
  PROPWASH_SKIP("this compiler has no packs");
#endif
}

namespace {

/// One step; std::function makes the compiler build one copy of the equations.
template <class Method, class Model, class T>
pw::MulticopterState<T, 4> stepped(const Model& model, const pw::MulticopterState<T, 4>& x,
                                   const pw::SmallArray<T, 4>& command) {
  using State = pw::MulticopterState<T, 4>;
  pw::MulticopterInput<T, 4, pw::Zero3, pw::Zero3> input;
  input.command = command;
  const std::function<State(const State&)> f = [&](const State& y) {
    return pw::multicopter_derivative(model, y, input);
  };
  return pw::projected(model, Method{}(f, x, 0.002));
}

/// A step with duals and the same with doubles.
template <class Shape, class Method>
void require_same_bits(const pw::VehicleParameters& vehicle) {
  using T = pw::Dual<double, 3>;
  const auto model = pw::make_model<double, 4, Shape>(vehicle);
  Dice dice(2);
  for (int i = 0; i < 20; ++i) {
    pw::MulticopterState<double, 4> x;
    x.position = dice.vec3(), x.velocity = dice.vec3(5.0);
    x.attitude = dice.unit_quat(), x.body_rates = dice.vec3(3.0);
    pw::SmallArray<double, 4> command;
    for (int k = 0; k < 4; ++k) {
      x.rotor_speeds[k] = dice.uniform(500, 2000), command[k] = dice.uniform(500, 2000);
    }
    pw::MulticopterState<T, 4> dual{pw::cast<T>(x.position),
                                    seeded<T>(x.velocity, 0),
                                    pw::cast<T>(x.attitude),
                                    seeded<T>(x.body_rates, 0),
                                    {}};
    pw::SmallArray<T, 4> dual_command;
    for (int k = 0; k < 4; ++k) {
      dual.rotor_speeds[k] = T(x.rotor_speeds[k]), dual_command[k] = T(command[k]);
    }
    const auto plain = stepped<Method>(model, x, command);
    const auto same = stepped<Method>(model, dual, dual_command);
    for (int axis = 0; axis < 3; ++axis) {
      CHECK(same.position[axis].value == plain.position[axis]);
      CHECK(same.velocity[axis].value == plain.velocity[axis]);
      CHECK(same.body_rates[axis].value == plain.body_rates[axis]);
    }
    CHECK(same.attitude.w.value == plain.attitude.w);
    CHECK(same.attitude.x.value == plain.attitude.x);
    for (int k = 0; k < 4; ++k) CHECK(same.rotor_speeds[k].value == plain.rotor_speeds[k]);
  }
}

}  // namespace

TEST_CASE("the value part of a step is bit-identical to the plain step", "[dual]") {
  require_same_bits<pw::ParallelShape, pw::Rk4>(pw::vehicles::flightgoggles());
  require_same_bits<pw::GeneralShape, pw::Rk4>(pw::vehicles::crazyflie());
  require_same_bits<pw::ParallelShape, pw::SymplecticEuler>(pw::vehicles::flightgoggles());
}

TEST_CASE("controller and allocation accept duals, with bit-identical values", "[dual]") {
  using T = pw::Dual<double, 3>;
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto law =
      pw::make_rate_control_law<double>(vehicle.rate_controller, vehicle.body.inertia, 0.001);
  const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
  pw::RateControllerState<double> memory;
  pw::RateControllerState<T> dual_memory{};
  Dice dice(3);
  for (int i = 0; i < 10; ++i) {
    const auto rates = dice.vec3();
    const auto torque = pw::rate_control(law, memory, rates, {});
    const auto dual = pw::rate_control(law, dual_memory, seeded<T>(rates, 0), {});
    const auto speeds = pw::allocate(allocation, pw::Wrench<double>{torque, 9.0});
    const auto dual_speeds = pw::allocate(allocation, pw::Wrench<T>{dual, T(9.0)});
    for (int k = 0; k < 4; ++k) CHECK(dual_speeds[k].value == speeds[k]);
  }
}

}  // namespace test_dual
