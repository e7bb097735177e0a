#pragma once
/// @file
/// The Jacobian of a step for many vehicles, one in each lane of a pack.
///
/// The derivative of an integrator's step is the same integrator's step of the variational equation
///
///     d(dx)/dt = F(x_s) dx + G(x_s) du
///
/// with F and G evaluated at each stage of the integrator (Hairer, Noersett and Wanner, "Solving
/// Ordinary Differential Equations I", 1993, I.14). F and G are computed with dual numbers from the
/// functions of model/, once per stage; each column then needs only multiplications and additions.
/// Zero blocks are skipped: velocity depends on attitude and rotors, attitude on rates, rates on
/// rotors, and each on itself.

#include <cstddef>
#include <vector>

#include "propwash/fleet/impl/make_constants.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/dual.hpp"

namespace propwash {

namespace detail {

/// Derivatives of the rotors' force and torque, in the units of the model, and angular momentum.
template <class T>
struct WrenchChange {
  T force{};
  Vec3<T> torque{};
  T momentum{};
};

/// F and G at one stage.
template <class T>
struct StageSlopes {
  Quat<T> attitude{};
  Vec3<T> half_rates{};
  Vec3<T> velocity_from_attitude[4]{};  ///< columns
  Vec3<T> velocity_from_force{};
  Vec3<T> velocity_from_velocity[3]{};
  Vec3<T> rates_from_rates[3]{};
  Vec3<T> rates_from_momentum{};
  T speed_factor{};  ///< of a rotor speed's difference from its command
  T speed_slope{};   ///< 1/s
};

/// Matrix-vector product; the matrix is stored by columns.
template <class T>
PROPWASH_FN Vec3<T> product(const Vec3<T> (&columns)[3], const Vec3<T>& v) {
  return columns[0] * v.x + columns[1] * v.y + columns[2] * v.z;
}
template <class T>
PROPWASH_FN Vec3<T> product(const Vec3<T> (&columns)[4], const Quat<T>& q) {
  return columns[0] * q.w + columns[1] * q.x + columns[2] * q.y + columns[3] * q.z;
}

/// The perturbed part of the state at the start of a step: a part of the body's state, or only the
/// rotors.
enum class Start { velocity, attitude, rates, rotors };

/// The i-th partial of each component.
template <class T, int N>
PROPWASH_FN Vec3<T> partial(const Vec3<Dual<T, N>>& v, int i) {
  return {v.x.partials[i], v.y.partials[i], v.z.partials[i]};
}

template <class T, int N, class P>
PROPWASH_FN void find_slopes(const MulticopterModel<P, N, PrincipalShape>& model,
                             const RigidBodyState<T>& x, const T& force, const T& momentum,
                             StageSlopes<T>& to) {
  to.attitude = x.attitude;
  to.half_rates = x.body_rates;
  using Turned = Dual<T, 4>;
  const auto& q = x.attitude;
  const auto force_W = rotate(Quat<Turned>{Turned::variable(q.w, 0), Turned::variable(q.x, 1),
                                           Turned::variable(q.y, 2), Turned::variable(q.z, 3)},
                              AlongZ<T>{force});
  for_each_index<4>(4, [&](int i) PROPWASH_LAMBDA { to.velocity_from_attitude[i] = partial(force_W, i); });
  to.velocity_from_force = rotate(q, AlongZ<T>{T(constant<T>(1))});

  using Moving = Dual<T, 3>;
  const auto seeded = [](const Vec3<T>& v) PROPWASH_LAMBDA {
    return Vec3<Moving>{Moving::variable(v.x, 0), Moving::variable(v.y, 1),
                        Moving::variable(v.z, 2)};
  };
  const auto drag_W = drag_force(model.drag, seeded(x.velocity));
  const auto rates = seeded(x.body_rates);
  const auto acceleration = angular_acceleration(
      model.body, Vec3<Moving>{}, rates, AlongZ<T>{momentum}, drag_torque(model.drag, rates));
  for_each_index<3>(3, [&](int i) PROPWASH_LAMBDA {
    to.velocity_from_velocity[i] = partial(drag_W, i);
    to.rates_from_rates[i] = partial(acceleration, i);
  });

  using Spinning = Dual<T, 1>;
  const auto precession =
      angular_acceleration(model.body, Vec3<Spinning>{}, cast<Spinning>(x.body_rates),
                           AlongZ<Spinning>{Spinning::variable(momentum, 0)});
  to.rates_from_momentum = partial(precession, 0);
}

/// An integrator that records the state at its stages and its result before normalisation.
template <class Method, class State>
struct StageRecorder {
  State* stages;
  State* end;

  template <class Derivative, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    int stage = 0;
    const auto recorded = [&](const State& y) PROPWASH_LAMBDA {
      stages[stage++] = y;
      return f(y);
    };
    *end = Method{}(recorded, x, dt);
    return *end;
  }
};

}  // namespace detail

/// The constants of one vehicle with PrincipalShape, the same in all lanes.
template <class P, int N>
FleetConstants<P, N, PrincipalShape> principal_constants(const VehicleParameters& vehicle,
                                                         const FleetSetting& setting) {
  const auto numbers = detail::fleet_numbers(vehicle, setting, true);
  auto next = numbers.begin();
  FleetConstants<P, N, PrincipalShape> constants;
  for_each_number(constants, [&](P& x) { x = P(static_cast<value_type_t<P>>(*next++)); });
  return constants;
}

/// Steps vehicles with PrincipalShape and computes the Jacobians of their steps.
///
/// T is a scalar or a Pack with a vehicle in each lane, P the type of the constants: T or its
/// scalar. Method is Rk4 or Euler. Rows and columns are those of LinearModel: position, velocity,
/// attitude, body rates, rotor speeds; the columns then continue with the N commands.
template <class Method, class T, int N, class P = value_type_t<T>>
class StepJacobian {
 public:
  using State = MulticopterState<T, N>;     ///< the state of a step
  static constexpr int rows = 12 + N;       ///< of the error state
  static constexpr int columns = rows + N;  ///< of the error state and the commands

  /// `constants` are those for the method and a step of dt [s].
  StepJacobian(const FleetConstants<P, N, PrincipalShape>& constants, double dt)
      : model_(constants.model), lag_(constants.lag), dt_(static_cast<value_type_t<P>>(dt)) {}

  /// Returns the next state and writes `jacobian`, (rows, columns) in row-major order.
  PROPWASH_FN State operator()(const State& state, const SmallArray<T, N>& command,
                               T* jacobian) const {
    constexpr auto unit = constant<T>(PrincipalShape::rate_unit);
    Body stages[max_stages];
    Body end;
    State x = state;
    x.body_rates = x.body_rates * (constant<T>(1) / unit);
    MulticopterInput<T, N, Zero3, Zero3> input;
    input.command = limited(model_, command);
    State next = multicopter_step(detail::StageRecorder<Method, Body>{stages, &end}, model_, lag_,
                                  x, input, dt_);
    next.body_rates = next.body_rates * unit;

    Slopes slopes[std::size_t{stage_count}];
    for_each_index<stage_count>(
        stage_count, [&](int s)
                         PROPWASH_LAMBDA { find(stages[s], x, input.command, s, slopes[s]); });
    const Out out{jacobian, end.attitude, T(constant<T>(2)) / squared_norm(end.attitude)};
    body_columns(slopes, x, out);
    for (int i = 0; i < N; ++i) rotor_columns(slopes, x.rotor_speeds[i], command[i], i, out);
    return next;
  }

 private:
  using Body = RigidBodyState<T>;
  using Slopes = detail::StageSlopes<T>;
  using Start = detail::Start;
  static constexpr int stage_count = std::is_same_v<Method, Euler> ? 1 : max_stages;

  /// Writes columns of the Jacobian.
  struct Out {
    T* jacobian;
    Quat<T> attitude;  ///< at the end, before its normalisation
    T twice_inverse;   ///< 2 / |attitude|^2

    PROPWASH_FN void put(int row, int column, const Vec3<T>& v) const {
      jacobian[row * columns + column] = v.x;
      jacobian[(row + 1) * columns + column] = v.y;
      jacobian[(row + 2) * columns + column] = v.z;
    }
    PROPWASH_FN void put(int column, const Vec3<T>& position, const Vec3<T>& velocity,
                         const Vec3<T>& rotation, const Vec3<T>& half_rates) const {
      put(0, column, position);
      put(3, column, velocity);
      put(6, column, rotation);
      put(9, column, half_rates * constant<T>(PrincipalShape::rate_unit));
      for (int row = 12; row < rows; ++row) jacobian[row * columns + column] = T{};
    }
    /// The rotation vector of a change of the attitude.
    PROPWASH_FN Vec3<T> rotation_vector(const Quat<T>& change) const {
      const auto q = conjugate(attitude) * change;
      return make_vec3(q.x, q.y, q.z) * twice_inverse;
    }
  };

  PROPWASH_FN void find(const Body& stage, const State& x, const SmallArray<T, N>& command, int s,
                        Slopes& to) const {
    T force{};
    T momentum{};
    for_each_index<N>(N, [&](int i) PROPWASH_LAMBDA {
      const auto& rotor = model_.rotors[i];
      const T speed = command[i] + (x.rotor_speeds[i] - command[i]) * lag_.factor[s];
      force = force + rotor.force_B.z * signed_square(speed);
      momentum = momentum - rotor.reaction_B.z * speed;
    });
    detail::find_slopes(model_, stage, force, momentum, to);
    to.speed_factor = T(lag_.factor[s]);
    to.speed_slope = T(lag_.slope[s]);
  }

  /// Integrates one part of the perturbation. Its rate depends on other parts by their values at
  /// the stages; its own values at the stages go to `stages`.
  template <class Part, class Rate>
  PROPWASH_FN Part integrated(const Part& start, Part* stages, const Rate& rate) const {
    int s = 0;
    const auto f = [&](const Part& y) PROPWASH_LAMBDA {
      const int stage = s++;
      return rate(stage, y);
    };
    Part end;
    return detail::StageRecorder<Method, Part>{stages, &end}(f, start, dt_);
  }

  /// Computes one column: rates, attitude, velocity, then position. A part becomes non-zero one
  /// stage after a part that it depends on.
  template <Start start>
  PROPWASH_FN void column(const Slopes* slopes, const Vec3<T>& unit, const Quat<T>& rotated,
                          const detail::WrenchChange<T>* rotors, int number, const Out& out) const {
    constexpr bool spun = start == Start::rates;
    constexpr bool driven = start == Start::rotors;
    constexpr int attitude_stage = spun ? 1 : (driven ? 2 : 0);  // the first with non-zero attitude
    Vec3<T> rates[max_stages];
    Quat<T> attitudes[max_stages];
    Vec3<T> velocities[max_stages];
    Vec3<T> positions[max_stages];
    Vec3<T> rates_end{};
    Quat<T> attitude_end{};
    if constexpr (spun || driven) {
      rates_end = integrated(spun ? unit : Vec3<T>{}, rates, [&](int s, const Vec3<T>& y) PROPWASH_LAMBDA {
        const Slopes& at = slopes[s];
        Vec3<T> rate{};
        if constexpr (driven) {
          rate = rotors[s].torque + at.rates_from_momentum * rotors[s].momentum;
        }
        return spun || s > 0 ? rate + detail::product(at.rates_from_rates, y) : rate;
      });
    }
    if constexpr (start != Start::velocity) {
      attitude_end = integrated(rotated, attitudes, [&](int s, const Quat<T>& y) PROPWASH_LAMBDA {
        const Slopes& at = slopes[s];
        Quat<T> rate{};
        if (s >= attitude_stage) rate = attitude_rate(model_.body, y, at.half_rates);
        if (spun || (driven && s > 0)) {
          rate = rate + attitude_rate(model_.body, at.attitude, rates[s]);
        }
        return rate;
      });
    }
    constexpr bool moving = start == Start::velocity;
    constexpr int velocity_stage = moving ? 0 : (driven ? 1 : attitude_stage + 1);
    const auto velocity_end =
        integrated(moving ? unit : Vec3<T>{}, velocities, [&](int s, const Vec3<T>& y) PROPWASH_LAMBDA {
          const Slopes& at = slopes[s];
          Vec3<T> rate{};
          if constexpr (driven) rate = at.velocity_from_force * rotors[s].force;
          if (!moving && s >= attitude_stage) {
            rate = rate + detail::product(at.velocity_from_attitude, attitudes[s]);
          }
          if (s >= velocity_stage) rate = rate + detail::product(at.velocity_from_velocity, y);
          return rate;
        });
    const auto position_end = integrated(
        Vec3<T>{}, positions, [&](int s, const Vec3<T>&) PROPWASH_LAMBDA { return velocities[s]; });
    out.put(number, position_end, velocity_end,
            moving ? Vec3<T>{} : out.rotation_vector(attitude_end), rates_end);
  }

  PROPWASH_FN void body_columns(const Slopes* slopes, const State& x, const Out& out) const {
    constexpr auto half_rate = constant<T>(1 / PrincipalShape::rate_unit);
    for (int axis = 0; axis < 3; ++axis) {
      Vec3<T> unit{};
      unit[axis] = T(constant<T>(1));
      const Quat<T> rotated = x.attitude * (unit * constant<T>(0.5));
      out.put(axis, unit, {}, {}, {});
      column<Start::velocity>(slopes, unit, {}, nullptr, 3 + axis, out);
      column<Start::attitude>(slopes, unit, rotated, nullptr, 6 + axis, out);
      column<Start::rates>(slopes, unit * half_rate, {}, nullptr, 9 + axis, out);
    }
  }

  /// The columns of one rotor's speed and of its command.
  PROPWASH_FN void rotor_columns(const Slopes* slopes, const T& speed, const T& command_value,
                                 int i, const Out& out) const {
    using Both = Dual<T, 2>;
    const Both start = Both::variable(speed, 0);
    const Both command =
        clamp(Both::variable(command_value, 1), model_.speed_min[i], model_.speed_max[i]);
    const SmallArray<RotorCoefficients<P, AlongZ<P>>, 1> rotor{{model_.rotors[i]}};
    detail::WrenchChange<T> changes[2][std::size_t{stage_count}];
    for (int s = 0; s < stage_count; ++s) {
      const Both distance = start - command;
      const SmallArray<Both, 1> speeds{{command + distance * slopes[s].speed_factor}};
      const SmallArray<Both, 1> accelerations{{distance * slopes[s].speed_slope}};
      const auto wrench = rotor_wrench(rotor, speeds, accelerations);
      for_each_index<2>(2, [&](int k) PROPWASH_LAMBDA {
        changes[k][s] = {wrench.force_B.z.partials[k], detail::partial(wrench.torque_B, k),
                         wrench.momentum_B.z.partials[k]};
      });
    }
    const Both end =
        clamp(command + (start - command) * T(lag_.end), model_.speed_min[i], model_.speed_max[i]);
    for_each_index<2>(2, [&](int k) PROPWASH_LAMBDA {
      const int number = 12 + i + k * N;
      column<Start::rotors>(slopes, {}, {}, changes[k], number, out);
      out.jacobian[(12 + i) * columns + number] = end.partials[k];
    });
  }

  MulticopterModel<P, N, PrincipalShape> model_;
  DecayStages<P> lag_;
  P dt_;
};

}  // namespace propwash
