#pragma once
// Vehicles of the tests of fleets of any vehicle.
#include <propwash/fleet/fleet.hpp>
#include <propwash/model/rigid_body.hpp>
#include <propwash/vehicle/car.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <random>
#include <vector>

namespace test_fleet_custom {

namespace pw = propwash;

/// A body with an attitude: thrust along its z axis, quadratic drag, commanded angular
/// acceleration.
struct Thruster {
  struct Parameters {
    double mass = 0.8, drag = 0.05;
  };
  template <class T>
  struct State {
    pw::Vec3<T> position{}, velocity{};
    pw::Quat<T> attitude = pw::Quat<T>::identity();
    pw::Vec3<T> rates{};
    PROPWASH_MEMBERS(position, velocity, attitude, rates)
  };
  template <class T>
  struct Command {
    T thrust{};
    pw::Vec3<T> acceleration{};
    PROPWASH_MEMBERS(thrust, acceleration)
  };
  template <class P>
  struct Constants {
    P inverse_mass{}, drag{};
    PROPWASH_MEMBERS(inverse_mass, drag)

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& x, const Command<T>& u) const {
      const pw::Vec3<T> thrust_B{T(pw::constant<T>(0)), T(pw::constant<T>(0)), u.thrust};
      const auto drag_W = x.velocity * (-norm(x.velocity) * drag);
      const auto force_W = rotate(x.attitude, thrust_B) + drag_W;
      return {x.velocity, force_W * inverse_mass, pw::attitude_rate(x.attitude, x.rates),
              u.acceleration};
    }
    template <class T>
    PROPWASH_FN State<T> project(State<T> x) const {
      x.attitude = normalized(x.attitude);
      return x;
    }
  };
  static Constants<double> constants(const Parameters& p, double) {
    if (!(p.mass > 0.0)) throw pw::ParameterError("mass: expected > 0 kg");
    return {1.0 / p.mass, p.drag};
  }
};

/// Members that are arrays, and more commands than a register transposes.
struct Decay {
  struct Parameters {};
  template <class T>
  struct State {
    T x[9]{};
    PROPWASH_MEMBERS(x)
  };
  template <class T>
  struct Command {
    T input[9]{};
    PROPWASH_MEMBERS(input)
  };
  template <class P>
  struct Constants {
    P rate[9]{};
    PROPWASH_MEMBERS(rate)

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& state, const Command<T>& command) const {
      State<T> result;
      for (int i = 0; i < 9; ++i) result.x[i] = command.input[i] - state.x[i] * rate[i];
      return result;
    }
  };
  static Constants<double> constants(const Parameters&, double) {
    Constants<double> c;
    for (int i = 0; i < 9; ++i) c.rate[i] = 0.1 * (i + 1);
    return c;
  }
};

/// A chain of three lags and a counter that starts within its limits.
struct Chain {
  struct Parameters {
    double rate = 2.0;
  };
  template <class T>
  struct State {
    pw::SmallArray<T, 3> x{};
    T y{};
    PROPWASH_MEMBERS(x, y)
  };
  template <class T>
  struct Command {
    T f{};  // the name of an argument of members()
    PROPWASH_MEMBERS(f)
  };
  template <class P>
  struct Constants {
    P rate{};
    PROPWASH_MEMBERS(rate)

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& s, const Command<T>& u) const {
      return {{(u.f - s.x[0]) * rate, (s.x[0] - s.x[1]) * rate, (s.x[1] - s.x[2]) * rate}, s.x[2]};
    }
    template <class T>
    PROPWASH_FN State<T> project(State<T> s) const {
      s.y = pw::max(s.y, T(pw::constant<T>(0.5)));
      return s;
    }
  };
  static Constants<double> constants(const Parameters& p, double) { return {p.rate}; }
};

using Cars = pw::Fleet<pw::Car<>, double>;

inline pw::CarParameters noisy_car() {
  auto car = pw::vehicles::car();
  car.speed_min = -1.0;
  car.process_noise_forward = 0.02;
  car.process_noise_left = 0.01;
  return car;
}
/// Another car for each vehicle.
inline pw::CarParameters varied_car(std::size_t i) {
  auto car = noisy_car();
  car.yaw_rate_limit *= 1.0 + 0.1 * static_cast<double>(i);
  car.process_noise_left *= static_cast<double>(i);
  return car;
}

template <class T>
std::vector<T> random_rows(std::size_t count, unsigned seed, double scale = 1.0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-scale, scale);
  std::vector<T> rows(count);
  for (T& x : rows) x = static_cast<T>(number(random));
  return rows;
}

template <class Vehicle, class T>
std::vector<T> rows_of(const pw::Fleet<Vehicle, T>& fleet) {
  std::vector<T> rows(fleet.size() * static_cast<std::size_t>(fleet.state_width));
  fleet.read(rows);
  return rows;
}

/// Thrusters that move and rotate.
template <class T>
pw::Fleet<Thruster, T> thrusters(std::size_t size,
                                 pw::Integrator integrator = pw::Integrator::rk4) {
  pw::VehicleFleetOptions options;
  options.dt = 0.01;
  options.integrator = integrator;
  pw::Fleet<Thruster, T> fleet{Thruster::Parameters{}, size, options};
  fleet.set_parameters(
      [](std::size_t i) { return Thruster::Parameters{0.5 + 0.1 * static_cast<double>(i), 0.05}; });
  auto rows = random_rows<T>(13 * size, 4);
  for (std::size_t i = 0; i < size; ++i) rows[13 * i + 6] = T(2);
  fleet.reset(rows);
  return fleet;
}

}  // namespace test_fleet_custom
