// A Multicopter inside MuJoCo: propwash computes controller, motors, rotor forces, drag and sensor;
// MuJoCo integrates the rigid body and its contact with the floor.
//
// In each step the vehicle takes the body's state from MuJoCo and returns the force and torque of
// rotors and air. Needs the C library of MuJoCo >= 3.2, which is in its Python wheel.
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstdio>
#include <propwash/vehicle/imu.hpp>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <stdexcept>
#include <string>

namespace {

namespace pw = propwash;
using Vec3 = pw::Vec3<double>;
using Uav = pw::Multicopter<4>;

constexpr double dt = 1.0 / 960.0;    // s
constexpr double half_height = 0.03;  // m, of the box that touches the floor
constexpr const char* model_text = R"(
<mujoco>
  <option timestep="%.17g" gravity="%.17g %.17g %.17g" integrator="RK4"/>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    <body pos="0 0 %.17g">
      <freejoint/>
      <inertial pos="0 0 0" mass="%.17g" diaginertia="%.17g %.17g %.17g"/>
      <geom type="box" size="0.1 0.1 %.17g"/>
    </body>
  </worldbody>
</mujoco>)";

/// MuJoCo's model and data of one free body above a floor.
class World {
 public:
  explicit World(const pw::RigidBodyParameters<double>& body) {
    char text[2000], error[500] = "";
    const auto &g = body.gravity,
               j = Vec3{body.inertia(0, 0), body.inertia(1, 1), body.inertia(2, 2)};
    std::snprintf(text, sizeof text, model_text, dt, g.x, g.y, g.z, half_height, body.mass, j.x,
                  j.y, j.z, half_height);
    mjSpec* spec = mj_parseXMLString(text, nullptr, error, sizeof error);
    if (spec != nullptr) model_ = mj_compile(spec, nullptr);
    if (model_ == nullptr) throw std::runtime_error(std::string("MuJoCo: ") + error);
    mj_deleteSpec(spec);
    data_ = mj_makeData(model_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    mj_deleteData(data_);
    mj_deleteModel(model_);
  }

  /// The body's state. A free joint has linear velocity in world axes, rates in body axes.
  template <class State>
  State state(State state) const {
    const mjtNum *q = data_->qpos, *v = data_->qvel;
    state.position = {q[0], q[1], q[2]};
    state.attitude = {q[3], q[4], q[5], q[6]};
    state.velocity = {v[0], v[1], v[2]};
    state.body_rates = {v[3], v[4], v[5]};
    return state;
  }
  template <class State>
  void set_state(const State& x) {
    const mjtNum q[] = {x.position.x, x.position.y, x.position.z, x.attitude.w,
                        x.attitude.x, x.attitude.y, x.attitude.z};
    const mjtNum v[] = {x.velocity.x,   x.velocity.y,   x.velocity.z,
                        x.body_rates.x, x.body_rates.y, x.body_rates.z};
    mju_copy(data_->qpos, q, 7);
    mju_copy(data_->qvel, v, 6);
  }
  /// One step under a force and a torque at the centre of mass, both in world axes.
  void step(const Vec3& force_W, const Vec3& torque_W) {
    mjtNum* applied = data_->xfrc_applied + 6;  // body 0 is the world
    for (int i = 0; i < 3; ++i) applied[i] = force_W[i], applied[3 + i] = torque_W[i];
    mj_step(model_, data_);
  }
  /// Accelerations of the last step, contact included: world axes, body axes.
  Vec3 acceleration_W() const { return {data_->qacc[0], data_->qacc[1], data_->qacc[2]}; }
  Vec3 angular_acceleration_B() const { return {data_->qacc[3], data_->qacc[4], data_->qacc[5]}; }
  int contacts() const { return data_->ncon; }

 private:
  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
};

/// A vehicle whose rigid body MuJoCo simulates.
class EmbeddedVehicle {
 public:
  explicit EmbeddedVehicle(const pw::VehicleParameters& vehicle)
      : uav(vehicle, options()), world(vehicle.body), imu_(vehicle.imu, /*seed=*/1) {}

  void reset(const Uav::State& state) {
    uav.reset(state);
    world.set_state(state);
    imu_.reset();
  }

  /// Returns the sensor's reading, which includes contact forces.
  template <class Command>
  pw::ImuReading<double> step(const Command& command) {
    const auto& body = uav.parameters().body;
    const auto x = uav.state();
    uav.step(command, dt);  // controller and motors; its own rigid body is replaced below
    const auto rate = uav.derivative(x, pw::RotorSpeeds<4>{uav.rotor_command()});
    const Vec3 force_W = (rate.velocity - body.gravity) * body.mass;
    const Vec3 torque_B =
        body.inertia * rate.body_rates + cross(x.body_rates, body.inertia * x.body_rates);
    world.step(force_W, rotate(x.attitude, torque_B));
    uav.set_state(world.state(uav.state()));

    const Vec3 specific_force_B = rotate_inverse(x.attitude, world.acceleration_W() - body.gravity);
    return imu_.read(specific_force_B, uav.state().body_rates, world.angular_acceleration_B(), dt);
  }

  Uav uav;
  World world;

 private:
  static pw::MulticopterOptions options() {
    pw::MulticopterOptions options;
    options.noise = false;  // of the vehicle; the sensor has separate noise
    return options;
  }
  pw::Imu<> imu_;
};

/// The distance between MuJoCo's body and Multicopter after two seconds without contact, m.
double difference_to_multicopter(const pw::VehicleParameters& vehicle) {
  EmbeddedVehicle embedded{vehicle};
  Uav alone{vehicle, embedded.uav.options()};
  auto start = alone.trim();
  start.position.z = 10.0;
  embedded.reset(start);
  alone.reset(start);
  for (int n = 0; n < 960 * 2; ++n) {
    const double t = n * dt;
    const pw::RateThrust<double> command{{0.4 * std::sin(3.0 * t), 0.3 * std::cos(2.0 * t), 0.5},
                                         1.4 * 9.81 * vehicle.body.mass};
    embedded.step(command);
    alone.step(command, dt);
  }
  return norm(embedded.uav.state().position - alone.state().position);
}

}  // namespace

int main() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu = {};  // an ideal sensor, to see what contact does to its readings
  std::printf("MuJoCo %s\n", mj_versionString());

  EmbeddedVehicle embedded{vehicle};
  auto start = embedded.uav.trim();
  start.position.z = half_height;
  start.rotor_speeds = {};
  embedded.reset(start);
  const auto fly = [&](const auto& command, double seconds) {
    pw::ImuReading<double> reading;
    for (int n = 0; n < static_cast<int>(seconds / dt); ++n) reading = embedded.step(command);
    const auto& x = embedded.uav.state();
    std::printf(
        "t %5.2f s  height %.4f m  climb %6.3f m/s  contacts %d  specific force %5.2f m/s^2\n",
        embedded.uav.time(), x.position.z, x.velocity.z, embedded.world.contacts(),
        reading.specific_force.z);
    return reading;
  };
  const pw::RotorSpeeds<4> off{};
  fly(off, 1.0);  // on the floor
  fly(pw::PositionCommand<double>{{0.0, 0.0, 1.0}}, 6.0);
  const double height = embedded.uav.state().position.z;
  fly(pw::VelocityCommand<double>{{0.0, 0.0, -0.4}}, 2.0);
  fly(off, 2.0);  // falls to the floor
  const auto at_rest = fly(off, 0.5);
  const double rest = embedded.uav.state().position.z;

  const double difference = difference_to_multicopter(vehicle);
  std::printf("free flight against Multicopter after 2 s: %.4f m\n", difference);
  const bool holds = std::fabs(height - 1.0) < 0.02 && std::fabs(rest - half_height) < 2e-3 &&
                     std::fabs(at_rest.specific_force.z - 9.81) < 0.05 && difference < 0.02;
  return holds ? 0 : 1;
}
