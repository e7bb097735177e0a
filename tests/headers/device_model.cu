/// @file
/// model/ in device code.

#include <propwash/model/car.hpp>
#include <propwash/model/contact.hpp>
#include <propwash/model/drag.hpp>
#include <propwash/model/ground_effect.hpp>
#include <propwash/model/imu.hpp>
#include <propwash/model/inflow.hpp>
#include <propwash/model/motor.hpp>
#include <propwash/model/rigid_body.hpp>
#include <propwash/model/rotor.hpp>
#include <propwash/model/rotor_drag.hpp>

namespace pw = propwash;

/// The parts of a quadcopter's model, without vehicle/.
template <class T>
struct Model {
  pw::MotorLag<T> motor;
  pw::SmallArray<pw::RotorParameters<T>, 4> rotors;
  pw::DragParameters<T> drag;
  pw::RotorDragParameters<T> rotor_drag;
  pw::InflowParameters<T> inflow;
  pw::GroundEffectParameters<T> ground;
  pw::ContactParameters<T> contact;
  pw::RigidBody<T> body;
  pw::ImuDevice<T> imu;
};

template <class T>
__global__ void acceleration(const Model<T>* models, const pw::SmallArray<T, 4>* speeds,
                             const pw::Vec3<T>* rates, pw::ImuReading<T>* readings) {
  const int i = static_cast<int>(threadIdx.x);
  const Model<T>& model = models[i];
  const auto rotor_rates = pw::map(
      speeds[i], [&](const T& speed) { return pw::rotor_acceleration(model.motor, speed, T(1)); });
  const auto wrench = pw::rotor_wrench(model.rotors, speeds[i], rotor_rates);
  const T change = pw::inflow_change(model.inflow, model.rotors[0].axis, speeds[i][0], rates[i]);
  const T factor = pw::ground_effect_factor(pw::ground_effect_area(model.ground), change, T(1));
  const pw::Vec3<T> force_B = (wrench.force_B + model.rotors[0].axis * change) * factor +
                              pw::rotor_drag_force(model.rotor_drag, model.body.mass, rates[i]) +
                              pw::foot_force(pw::foot_constants(model.contact, model.body.mass, 4),
                                             model.rotors[0].axis, change, rates[i]);
  const pw::Vec3<T> torque_B = wrench.torque_B + pw::drag_torque(model.drag, rates[i]) +
                               pw::blow_back_torque(model.rotor_drag, rates[i]);
  const auto turning = pw::angular_acceleration(model.body, torque_B, rates[i], wrench.momentum_B);
  const auto moving =
      pw::linear_acceleration(model.body, force_B + pw::drag_force(model.drag, rates[i]));
  const auto force_S = pw::specific_force_at_sensor(model.imu, moving, rates[i], turning);
  const pw::ImuBias<T> bias{};
  readings[i].specific_force = pw::accelerometer_reading(model.imu, force_S, bias, rates[i]);
  readings[i].angular_rate = pw::gyroscope_reading(model.imu, rates[i], bias, rates[i]);
}

template <class T>
__global__ void drive(pw::CarState<T>* cars, T speed, T yaw_rate, T dt) {
  auto& car = cars[threadIdx.x];
  car = car + pw::car_derivative(car, speed, yaw_rate, T(0), T(0)) * dt;
}

template __global__ void acceleration(const Model<float>*, const pw::SmallArray<float, 4>*,
                                      const pw::Vec3<float>*, pw::ImuReading<float>*);
template __global__ void acceleration(const Model<double>*, const pw::SmallArray<double, 4>*,
                                      const pw::Vec3<double>*, pw::ImuReading<double>*);
template __global__ void drive(pw::CarState<float>*, float, float, float);
