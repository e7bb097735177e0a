#pragma once
/// @file
/// Battery: dependence of rotor speed on voltage, and discharge by a Thevenin circuit. Extensions
/// of the FlightGoggles model; see docs/model/battery.md.

#include <cmath>

#include "propwash/math/scalar.hpp"
#include "propwash/math/small_array.hpp"

namespace propwash {

/// Parameters of the battery. All but nominal_voltage belong to the circuit.
template <class P>
struct BatteryParameters {
  /// V, voltage at which the commanded rotor speed is reached; 0: closed-loop speed control, no
  /// dependence on voltage.
  P nominal_voltage{};
  P cells{};                    ///< in series; 0: no circuit, the caller sets the voltage
  P capacity{};                 ///< A h
  P full_voltage{};             ///< V, open-circuit voltage of a full cell
  P resistance{};               ///< ohm, R_0 in series, of the whole battery
  P polarisation_resistance{};  ///< ohm, R_1 of the RC pair, of the whole battery
  P polarisation_time{};        ///< s, R_1 C_1
  P efficiency{};               ///< mechanical power of the rotors over electrical power
  P load{};                     ///< W, constant consumption of everything but the motors
  PROPWASH_MEMBERS(nominal_voltage, cells, capacity, full_voltage, resistance,
                   polarisation_resistance, polarisation_time, efficiency, load)
};

/// Rotor speed [rad/s] reached at the present voltage by an open-loop command [rad/s]: speed is
/// proportional to duty cycle times voltage. `voltage_ratio` is voltage / nominal_voltage.
template <class T, class P>
PROPWASH_FN T command_at_voltage(const T& command, const P& voltage_ratio) {
  return command * voltage_ratio;
}

/// Open-circuit voltage [V] of a lithium cell: the measured curve of Chen and Rincon-Mora, IEEE
/// Trans. Energy Conversion 21(2), 2006, eq. (2).
template <class T>
PROPWASH_FN T cell_voltage(const T& state_of_charge) {
  const auto number = [](double value) PROPWASH_LAMBDA { return constant<T>(value); };
  // exp(-35 s) = exp(-y)^64: a polynomial and six squarings, error below 1e-6 V
  const T s = max(state_of_charge, T(number(-0.1)));  // far below zero volts
  const T y = s * number(35.0 / 64.0);
  T decay =
      (((y * number(1.0 / 24.0) - number(1.0 / 6.0)) * y + number(0.5)) * y - number(1.0)) * y +
      number(1.0);
  for (int i = 0; i < 6; ++i) decay = decay * decay;
  return ((s * number(0.3201) - number(0.1178)) * s + number(0.2156)) * s + number(3.685) -
         decay * number(1.031);
}

/// State of the circuit.
template <class T>
struct BatteryState {
  /// Remaining fraction of the capacity, a multiple of 2^-16: its changes are exact in float.
  T state_of_charge{};
  T rest{};          ///< used fraction that is not yet subtracted from state_of_charge
  T polarisation{};  ///< V, across the RC pair
  T current{};       ///< A, during the last step
  PROPWASH_MEMBERS(state_of_charge, rest, polarisation, current)
};

/// A battery at rest with a state of charge.
template <class T>
BatteryState<T> battery_at_rest(double state_of_charge) {
  const double level = round(state_of_charge * 65536.0) / 65536.0;
  return {T(level), T(level - state_of_charge), T(0), T(0)};
}

/// Coefficients of the power of a rotor.
template <class P>
struct RotorShaft {
  P torque_coefficient{};  ///< N m/(rad/s)^2
  P inertia{};             ///< kg m^2
  PROPWASH_MEMBERS(torque_coefficient, inertia)
};

/// Constants of the circuit and its load for steps of one dt.
template <class P, int N>
struct BatteryCircuit {
  P cells{};                              ///< in series
  P surplus{};                            ///< V, full_voltage less the curve at 1
  P resistance_4{};                       ///< ohm, 4 R_0
  P inverse_4{};                          ///< 1/ohm, 1 / (4 R_0); 0 for R_0 = 0
  P polarisation_resistance{};            ///< ohm
  P polarisation_step{};                  ///< 1 - exp(-dt / (R_1 C_1))
  P charge_step{};                        ///< 1/A, used fraction of the capacity in a step at 1 A
  P inverse_efficiency{};                 ///< electrical over mechanical power
  P load{};                               ///< W
  P inverse_nominal{};                    ///< 1/V
  SmallArray<RotorShaft<P>, N> shafts{};  ///< of the rotors
  PROPWASH_MEMBERS(cells, surplus, resistance_4, inverse_4, polarisation_resistance,
                   polarisation_step, charge_step, inverse_efficiency, load, inverse_nominal,
                   shafts)
};

/// A vehicle without a battery circuit.
struct NoBatteryCircuit {};

/// Sets the constants of a circuit, except its shafts, for steps of dt [s].
template <class P, int N>
void set_circuit(BatteryCircuit<P, N>& c, const BatteryParameters<double>& p, double dt) {
  if (!(p.cells > 0.0)) return;
  c.cells = P(p.cells);
  c.surplus = P(p.full_voltage - cell_voltage(1.0));
  c.resistance_4 = P(4.0 * p.resistance);
  c.inverse_4 = P(p.resistance > 0.0 ? 0.25 / p.resistance : 0.0);
  c.polarisation_resistance = P(p.polarisation_resistance);
  c.polarisation_step =
      P(p.polarisation_time > 0.0 ? 1.0 - std::exp(-dt / p.polarisation_time) : 1.0);
  c.charge_step = P(dt / (3600.0 * p.capacity));
  c.inverse_efficiency = P(1.0 / p.efficiency);
  c.load = P(p.load);
  c.inverse_nominal = P(1.0 / p.nominal_voltage);
}

/// Open-circuit voltage [V] of the battery.
template <class T, class P, int N>
PROPWASH_FN T open_circuit_voltage(const BatteryCircuit<P, N>& c, const BatteryState<T>& x) {
  const T s = x.state_of_charge - x.rest;
  return (cell_voltage(s) + s * c.surplus) * c.cells;
}

/// Mechanical power [W] that a motor delivers to its rotor, at least 0: a braking motor does not
/// charge the battery. `effectiveness` is the factor on the aerodynamic torque.
template <class T, class P>
PROPWASH_FN T rotor_power(const RotorShaft<P>& shaft, const T& effectiveness, const T& speed,
                          const T& acceleration) {
  const T torque = signed_square(speed) * shaft.torque_coefficient * effectiveness +
                   acceleration * shaft.inertia;
  return max(torque * speed, T(constant<T>(0)));
}

/// Voltage and current at the terminals.
template <class T>
struct BatteryOutput {
  T voltage{};  ///< V
  T current{};  ///< A
};

/// Output of the circuit for a mechanical power [W] of the rotors: the larger root of
/// V I = power, V = E - R_0 I; the largest power that the circuit can supply is E^2 / (4 R_0).
template <class T, class P, int N>
PROPWASH_FN BatteryOutput<T> battery_output(const BatteryCircuit<P, N>& c, const BatteryState<T>& x,
                                            const T& rotor_power) {
  const T zero(constant<T>(0));
  // limited, as infinity times a resistance of zero is not a number
  const T power = min(rotor_power * c.inverse_efficiency + T(c.load), T(constant<T>(1e12)));
  const T source = max(open_circuit_voltage(c, x) - x.polarisation, zero);
  const T square = source * source - power * c.resistance_4;
  const T voltage = (source + sqrt(max(square, zero))) * constant<T>(0.5);
  const T supplied = select(square > zero, power, source * source * c.inverse_4);
  return {voltage, supplied / max(voltage, T(constant<T>(1e-6)))};
}

/// The state after a step at a current [A].
template <class T, class P, int N>
PROPWASH_FN BatteryState<T> discharged(const BatteryCircuit<P, N>& c, const BatteryState<T>& x,
                                       const T& current) {
  const T used = x.rest + current * c.charge_step;
  const T whole = round(used * constant<T>(65536.0)) * constant<T>(1.0 / 65536.0);
  return {
      x.state_of_charge - whole, used - whole,
      x.polarisation + (current * c.polarisation_resistance - x.polarisation) * c.polarisation_step,
      current};
}

}  // namespace propwash
