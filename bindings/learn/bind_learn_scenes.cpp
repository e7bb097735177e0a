#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <vector>

#include "learn_arrays.hpp"
#include "modules.hpp"
#include "scene.hpp"

namespace propwash::bindings {

namespace {

learn::SceneRows<float> scene_rows(const Floats& position, const Truths& active,
                                   std::size_t vehicles) {
  const std::size_t n = position.shape(0);
  if (vehicles == 0 || n % vehicles != 0) {
    throw py::value_error("vehicles: expected a divisor of " + std::to_string(n) + ", got " +
                          std::to_string(vehicles));
  }
  return {n, vehicles, position.rows(n, 3), active.rows(n)};
}

py::tuple judge_meetings(const Floats& position, const Floats& before, const Truths& active,
                         std::size_t vehicles, float radius) {
  const auto rows = scene_rows(position, active, vehicles);
  auto closest = new_array<float>(rows.size);
  auto collided = new_array<bool>(rows.size);
  learn::judge_meetings(rows, before.rows(rows.size, 3), radius, closest.mutable_data(),
                        collided.mutable_data());
  return py::make_tuple(closest, collided);
}

py::array_t<float> see_others(const Floats& position, const Floats& velocity,
                              const std::optional<Floats>& attitude, const Truths& active,
                              std::size_t vehicles, std::size_t count) {
  const auto rows = scene_rows(position, active, vehicles);
  auto seen = new_array<float>(rows.size, learn::neighbour_columns * count);
  std::vector<learn::Neighbour<float>> found(count);
  learn::see_others(rows, velocity.rows(rows.size, 3),
                    attitude ? attitude->rows(rows.size, 4) : nullptr, count, found.data(),
                    seen.mutable_data());
  return seen;
}

/// coefficients (n, N): N/(rad/s)^2, of the rotors.
py::array_t<float> downwash_forces(const Floats& position, const Floats& attitude,
                                   const Floats& rotor_speeds,
                                   const InputArray<double>& coefficients, const Truths& active,
                                   std::size_t vehicles, const std::array<float, 3>& jet) {
  const auto rows = scene_rows(position, active, vehicles);
  const std::size_t rotors = rotor_speeds.shape(1);
  const float* speed = rotor_speeds.rows(rows.size, rotors);
  const double* coefficient = coefficients.rows(rows.size, rotors);
  std::vector<float> thrust(rows.size);
  for (auto& sum : thrust) {
    for (std::size_t k = 0; k < rotors; ++k) {
      RotorParameters<float> rotor{};
      rotor.thrust_coefficient = static_cast<float>(*coefficient++);
      sum += rotor_thrust(rotor, *speed++);
    }
  }
  auto forces = new_array<float>(rows.size, 3);
  learn::judge_downwash<float>(rows, {jet[0], jet[1], jet[2]}, attitude.rows(rows.size, 4),
                               thrust.data(), forces.mutable_data());
  return forces;
}

}  // namespace

void bind_learn_scenes(py::module_& m) {
  m.def("judge_meetings", &judge_meetings, "position"_a, "before"_a, "active"_a, "vehicles"_a,
        "radius"_a,
        "Returns, for vehicles of scenes in consecutive rows, the distance to the nearest other "
        "(n,) [m], inf without one, and whether the vehicle's sphere touched another (n,) on the "
        "straight paths from `before` (n, 3).");
  m.def("see_others", &see_others, "position"_a, "velocity"_a, "attitude"_a, "active"_a,
        "vehicles"_a, "count"_a,
        "Returns the nearest others (n, 7 count); see propwash.gym.multi.SceneState.neighbours.\n\n"
        "attitude: for vectors in the body frame, or None.");
  m.def(
      "downwash_forces", &downwash_forces, "position"_a, "attitude"_a, "rotor_speeds"_a,
      "coefficients"_a, "active"_a, "vehicles"_a, "jet"_a,
      "Returns the forces of the downwash of the others (n, 3) [N], world axes.\n\n"
      "coefficients: (n, N) N/(rad/s)^2, of the rotors. jet: area of the rotor discs of a vehicle "
      "[m^2], spread, coefficient.");
}

}  // namespace propwash::bindings
