#pragma once
// Member functions of Multicopter; include propwash/vehicle/multicopter.hpp.

#include <cmath>

#include "propwash/vehicle/multicopter.hpp"

namespace propwash {

template <int N, class T>
Multicopter<N, T>::Multicopter(const VehicleParameters& parameters,
                               const MulticopterOptions& options)
    : parameters_(parameters), options_(options) {
  validate(parameters);
  const int count = static_cast<int>(parameters.rotors.size());
  if (N != Dynamic && count != N) {
    PROPWASH_THROW(ParameterError("vehicle '" + parameters.name +
                                  "': number of rotors = " + std::to_string(count) + ": expected " +
                                  std::to_string(N) + ", the template argument of Multicopter"));
  }
  if (options.control_vehicle) validate_control_vehicle(*options.control_vehicle, parameters);
  validate_turbulence(options.turbulence, options.turbulence_heading);
  parallel_ = is_parallel(parameters);
  if (parallel_) parallel_model_ = make_model<T, N, ParallelShape>(parameters);
  constants_ = make_tick_constants<T, N, GeneralShape>(parameters, control_vehicle());

  const auto& noise = parameters.process_noise;
  has_noise_ = options.noise && (noise.force > 0 || noise.torque > 0 || is_noisy(parameters.imu));
  memory_.vehicle = fingerprint(parameters, options.control_vehicle);
  if (has_turbulence()) {
    const auto& air = options.turbulence;
    detail::Fingerprint of_air;
    for (const double x :
         {air.wind_speed_6m, air.altitude, air.airspeed, options.turbulence_heading}) {
      of_air.add(x);
    }
    memory_.vehicle = 31 * memory_.vehicle + of_air.value();
  }
  memory_.integrator = static_cast<std::uint32_t>(options.integrator);
  memory_.noise = options.noise ? 1 : 0;
  memory_.seed = options.seed;
  memory_.id = options.id;
  memory_.voltage = parameters.battery.nominal_voltage;
  memory_.rotor_effectiveness = SmallArray<T, N>::filled(count, T(1));
  reset();
}

template <int N, class T>
typename Multicopter<N, T>::State Multicopter<N, T>::trim() const {
  State state;
  const T weight = T(weight_of(parameters_.body));
  const auto allocation = make_allocation<T, N>(parameters_.rotors, parameters_.motor);
  state.rotor_speeds = allocate(allocation, Wrench<T>{{}, weight});
  return state;
}

template <int N, class T>
typename Multicopter<N, T>::State Multicopter<N, T>::trim(const SteadyFlight& flight) const {
  const auto steady = propwash::trim(parameters_, flight);
  State state;
  state.velocity = cast<T>(steady.velocity) + memory_.input.wind_W;
  state.attitude = cast<T>(steady.attitude);
  state.body_rates = cast<T>(steady.body_rates);
  state.rotor_speeds.resize(rotors());
  for (int i = 0; i < rotors(); ++i) state.rotor_speeds[i] = T(steady.rotor_speeds[i]);
  return state;
}

template <int N, class T>
typename Multicopter<N, T>::State Multicopter<N, T>::rate(
    const State& state, const MulticopterInput<T, N>& input) const {
  return with_model([&](const auto& model) { return multicopter_derivative(model, state, input); });
}

/// Throws if the controllers assume a vehicle whose rotors cannot produce every torque and thrust.
template <int N, class T>
void Multicopter<N, T>::refuse_rate_thrust() const {
  validate_allocation(control_vehicle());
}

template <int N, class T>
void Multicopter<N, T>::reset(const State& state) {
  require_rotors(state.rotor_speeds.size());
  Snapshot fresh{};
  fresh.state = checked(state);
  fresh.vehicle = memory_.vehicle;
  fresh.integrator = memory_.integrator;
  fresh.noise = memory_.noise;
  fresh.seed = memory_.seed;
  fresh.id = memory_.id;
  fresh.steps = memory_.steps;
  fresh.input.wind_W = memory_.input.wind_W;
  fresh.external_force_W = memory_.external_force_W;
  fresh.external_torque_B = memory_.external_torque_B;
  fresh.rotor_effectiveness = memory_.rotor_effectiveness;
  const auto& battery = parameters_.battery;
  fresh.voltage = has_circuit() ? battery.cells * battery.full_voltage : memory_.voltage;
  fresh.dt = detail::default_dt;
  memory_ = fresh;
  apply_wrench();
  memory_.input.command = state.rotor_speeds;
  memory_.delay.fill(state.rotor_speeds);
  memory_.held_speeds = state.rotor_speeds;
  if (has_noise_) {
    memory_.bias = initial_imu_bias<T>(parameters_.imu, options_.seed, options_.id, memory_.steps);
  }
  if (has_turbulence()) {
    memory_.turbulence = detail::initial_turbulence<T>(options_.seed, options_.id, memory_.steps);
  }
  step_ = {};
  prepare(memory_.dt);
  draw_imu_noise();
  memory_.held_reading = measured();
}

template <int N, class T>
void Multicopter<N, T>::reset(const State& state, std::uint64_t seed) {
  require_rotors(state.rotor_speeds.size());
  checked(state);  // throws before any change
  options_.seed = seed;
  memory_.seed = seed;
  memory_.steps = 0;
  reset(state);
}

template <int N, class T>
void Multicopter<N, T>::restore(const Snapshot& snapshot) {
  if (snapshot.vehicle != memory_.vehicle) {
    PROPWASH_THROW(
        std::invalid_argument("snapshot: expected one of vehicle '" + parameters_.name +
                              "' with the same parameters, control vehicle and turbulence"));
  }
  if (snapshot.integrator != memory_.integrator || snapshot.noise != memory_.noise) {
    PROPWASH_THROW(
        std::invalid_argument("snapshot: expected one of a multicopter with the same integrator, " +
                              std::string(options_.noise ? "with" : "without") + " noise"));
  }
  if (!is_valid(snapshot, parameters_)) {
    PROPWASH_THROW(std::invalid_argument(
        "snapshot: expected the result of snapshot() of a multicopter with " +
        std::to_string(rotors()) + " rotors and a finite state, got invalid data"));
  }
  // before memory_ is set: prepare() may take a new reading
  step_ = {};
  prepare(snapshot.dt);
  memory_ = snapshot;
  options_.seed = snapshot.seed;
  options_.id = static_cast<std::uint32_t>(snapshot.id);
  if (!options_.noise) memory_.noise_force_W = memory_.noise_torque_B = {};
  update_wrench();
  make_rotors();
  draw_imu_noise();
}

template <int N, class T>
void Multicopter<N, T>::set_rotor_effectiveness(const SmallArray<T, N>& factors) {
  require_rotors(factors.size());
  for (const T& factor : factors) {
    if (is_within(factor, T(0), T(max_effectiveness))) continue;
    PROPWASH_THROW(std::invalid_argument(
        "rotor effectiveness = " + detail::formatted(static_cast<double>(factor)) +
        ": expected values from 0 to " + detail::formatted(max_effectiveness)));
  }
  memory_.rotor_effectiveness = factors;
  make_rotors();
}

template <int N, class T>
void Multicopter<N, T>::set_state_of_charge(double state_of_charge) {
  require_circuit(true);
  if (!is_within(state_of_charge, 0.0, 1.0)) {
    PROPWASH_THROW(std::invalid_argument("state_of_charge = " + detail::formatted(state_of_charge) +
                                         ": expected 0 to 1"));
  }
  memory_.battery = battery_at_rest<T>(state_of_charge);
  memory_.voltage = static_cast<double>(open_circuit_voltage(constants_.battery, memory_.battery));
}

template <int N, class T>
void Multicopter<N, T>::make_rotors() {
  for (int i = 0; i < rotors(); ++i) {
    const auto nominal = rotor_coefficients(parameters_.rotors[static_cast<std::size_t>(i)]);
    const auto rotor = degraded(nominal, static_cast<double>(memory_.rotor_effectiveness[i]));
    if (parallel_) {
      detail::make_rotor(rotor, parallel_model_.rotors[i]);
    } else {
      detail::make_rotor(rotor, constants_.model.rotors[i]);
    }
  }
}

template <int N, class T>
void Multicopter<N, T>::require_time_step(double dt) const {
  // valid steps return here: the text of a warning would be allocated
  if (is_finite(dt) && dt >= min_time_step &&
      parameters_.motor.command_delay <= max_delay_steps * dt) {
    return;
  }
  validate_time_step(parameters_, options_.integrator, dt);
}

template <int N, class T>
void Multicopter<N, T>::prepare(double dt) {
  memory_.dt = dt;
  const bool was_slower = step_.imu_is_slower;
  step_ = {dt, is_slower_than_steps(parameters_.imu.rate, dt),
           step_delay(parameters_.motor.command_delay, dt, Snapshot::delay_capacity), false};
  set_time_step(constants_, parameters_, options_.integrator, dt, options_.noise);
  constants_.turbulence = make_turbulence<T>(options_.turbulence, options_.turbulence_heading, dt);
  if (step_.imu_is_slower && !was_slower) {
    memory_.held_reading = measured();
    memory_.imu_phase = 0.0;
  }
}

/// The host of a step. Held: Zero3 without noise and external wrench.
template <int N, class T>
template <class HeldWrench>
struct Multicopter<N, T>::Host : TickHost<T, N> {
  using Held = HeldWrench;
  static constexpr bool is_compact = true;

  Multicopter& m;
  const RateThrust<T>* rates;  ///< null: speeds
  const SmallArray<T, N>* speeds;
  StepNormals z;

  Host(Multicopter& vehicle, const RateThrust<T>* rate_command, const SmallArray<T, N>* command)
      : m(vehicle), rates(rate_command), speeds(command) {}

  PROPWASH_FN TickSwitches switches() const {
    TickSwitches on;
    on.process_noise = on.bias_walk = m.has_noise_;
    on.external_wrench = m.has_noise_ || m.has_external_wrench_;
    on.imu_is_slower = m.step_.imu_is_slower;
    on.battery = m.has_battery();
    on.battery_circuit = m.has_circuit();
    on.wind = true;
    on.turbulence = m.has_turbulence();
    return on;
  }
  PROPWASH_FN bool has_rates() const { return rates != nullptr; }
  PROPWASH_FN const RateThrust<T>& rate_thrust() const { return *rates; }
  PROPWASH_FN SmallArray<T, N> rotor_speeds() const { return limited(m.constants_.model, *speeds); }
  PROPWASH_FN Vec3<T> held_angular_rate() const { return m.memory_.held_reading.angular_rate; }
  PROPWASH_FN Vec3<T> gyroscope_noise() const { return m.imu_noise_.gyroscope; }

  PROPWASH_FN void delay(SmallArray<T, N>& acting) {
    if (!(m.parameters_.motor.command_delay > 0.0)) return;
    const auto& delay = m.step_.delay;
    acting = m.memory_.delay.push(acting, delay.steps, T(delay.fraction));
  }
  PROPWASH_FN T voltage_ratio() const { return m.voltage_ratio(); }
  PROPWASH_FN const BatteryState<T>& battery() const { return m.memory_.battery; }
  PROPWASH_FN void set_battery(const BatteryState<T>& battery, T ratio) {
    m.memory_.battery = battery;
    m.memory_.voltage = static_cast<double>(ratio) * m.parameters_.battery.nominal_voltage;
  }
  PROPWASH_FN const SmallArray<T, N>& rotor_effectiveness() const {
    return m.memory_.rotor_effectiveness;
  }

  /// All normals of a step: process noise, bias random walk, white noise of the reading at its end,
  /// and turbulence. Not inline: the step then has more registers.
  void draw() {
    const std::uint64_t n = m.memory_.steps;
    z = step_normals(m.options_.seed, m.options_.id,
                     {{{n, Stream::process_noise},
                       {n, Stream::imu_bias_walk},
                       {n + 1, Stream::imu_noise},
                       {n, Stream::turbulence}}});
  }
  PROPWASH_FN StepNormals::Row normals(Stream stream) {
    const bool is_gust = stream == Stream::turbulence;
    if (stream == Stream::process_noise || (is_gust && !m.has_noise_)) draw();
    return z[is_gust ? 3 : stream == Stream::process_noise ? 0 : 1];
  }
  PROPWASH_FN const TurbulenceState<T>& turbulence() const { return m.memory_.turbulence; }
  PROPWASH_FN void set_turbulence(const TurbulenceState<T>& next) { m.memory_.turbulence = next; }
  PROPWASH_FN void keep_noise(const Vec3<T>& force_W, const Vec3<T>& torque_B) {
    m.memory_.noise_force_W = force_W;
    m.memory_.noise_torque_B = torque_B;
  }
  PROPWASH_FN const Vec3<T>& external_force_W() const { return m.memory_.external_force_W; }
  PROPWASH_FN const Vec3<T>& external_torque_B() const { return m.memory_.external_torque_B; }
  PROPWASH_FN const Vec3<T>& wind_W() const { return m.memory_.input.wind_W; }

  PROPWASH_FN void end() {
    auto& memory = m.memory_;
    if (m.has_noise_) m.imu_noise_ = imu_noise<T>(z[2], m.constants_.imu_deviations);
    ++memory.steps;
    memory.time += m.step_.dt;
    if (m.step_.imu_is_slower &&
        sample_is_due(memory.imu_phase, m.step_.dt, m.parameters_.imu.rate)) {
      memory.held_reading = m.measured();
    }
  }
};

/// One step under rates and thrust or, if `rates` is null, rotor speeds.
template <int N, class T>
void Multicopter<N, T>::advance(const RateThrust<T>* rates, const SmallArray<T, N>* speeds) {
  if (!parallel_) {
    fly<Vec3<T>>(constants_.model, rates, speeds);
  } else if (has_noise_ || has_external_wrench_) {
    fly<Vec3<T>>(parallel_model_, rates, speeds);
  } else {
    fly<Zero3>(parallel_model_, rates, speeds);
  }
}
template <int N, class T>
template <class Held, class Shape>
void Multicopter<N, T>::fly(const MulticopterModel<T, N, Shape>& model, const RateThrust<T>* rates,
                            const SmallArray<T, N>* speeds) {
  Host<Held> host(*this, rates, speeds);
  const auto step = [&](auto method) {
    tick(method, constants_, model, memory_, host, T(step_.dt));
  };
  switch (options_.integrator) {
    case Integrator::euler:
      return step(Euler{});
    case Integrator::rk4:
      return step(Rk4{});
    case Integrator::symplectic_euler:
      return step(SymplecticEuler{});
  }
}

/// Draws the white noise of the reading at the present step.
template <int N, class T>
void Multicopter<N, T>::draw_imu_noise() {
  if (!has_noise_) return;
  const auto z = six_normals(options_.seed, options_.id, memory_.steps, Stream::imu_noise);
  imu_noise_ = imu_noise<T>(z, constants_.imu_deviations);
}

template <int N, class T>
ImuReading<T> Multicopter<N, T>::measured() const {
  return with_model([&](const auto& model) {
    return imu_read(model, constants_.imu, memory_.state, present_input(), memory_.bias, imu_noise_,
                    memory_.time);
  });
}

}  // namespace propwash
