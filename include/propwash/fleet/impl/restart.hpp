#pragma once
/// @file
/// The parts of a reset that a fleet and a thread of a GPU share. at(field) refers to a number of
/// the vehicle, a field of FleetLayout.

#include <cstddef>
#include <cstdint>

#include "propwash/fleet/impl/layout.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/members.hpp"
#include "propwash/vehicle/impl/restart.hpp"

namespace propwash::detail {

/// Draws, with noise, the biases of the IMU, whose fields hold their deviations, and stationary
/// turbulence.
template <class T, class At>
PROPWASH_FN void draw_start(const At& at, bool has_noise, bool has_turbulence, std::uint64_t seed,
                            std::uint32_t id, std::uint64_t step) {
  if (has_noise) {
    const SixNormals z = six_normals(seed, id, step, Stream::initial_bias);
    for (int i = 0; i < 3; ++i) {
      at(FleetLayout::accelerometer_bias + i) = T(z[i]) * at(FleetLayout::accelerometer_bias + i);
      at(FleetLayout::gyroscope_bias + i) = T(z[3 + i]) * at(FleetLayout::gyroscope_bias + i);
    }
  }
  if (has_turbulence) {
    auto gust = initial_turbulence<T>(seed, id, step);
    int field = FleetLayout::turbulence;
    for_each_number(gust, [&](const T& number) PROPWASH_LAMBDA { at(field++) = number; });
  }
}

/// Position, velocity, attitude, body rates and rotor speeds of a vehicle; null: unchanged.
template <class T>
struct StateRow {
  const T* parts[5] = {};
};

/// Replaces parts of the state, with a normalised attitude, and sets FleetLayout::diverged.
template <class T, class At>
PROPWASH_FN void write_state(const At& at, int rotors, const StateRow<T>& row) {
  const int first[] = {FleetLayout::position, FleetLayout::velocity, FleetLayout::attitude,
                       FleetLayout::body_rates, FleetLayout::rotor_speeds};
  const int width[] = {3, 3, 4, 3, rotors};
  bool finite = true;
  for (int part = 0; part < 5; ++part) {
    const T* const from = row.parts[part];
    if (from != nullptr && part == 2) {
      const Quat<T> q = unit_attitude(Quat<T>{from[0], from[1], from[2], from[3]});
      const T numbers[] = {q.w, q.x, q.y, q.z};
      for (int i = 0; i < 4; ++i) at(FleetLayout::attitude + i) = numbers[i];
    } else if (from != nullptr) {
      for (int i = 0; i < width[part]; ++i) at(first[part] + i) = from[i];
    }
    for (int i = 0; i < width[part]; ++i) finite = finite && is_finite(at(first[part] + i));
  }
  at(FleetLayout::diverged) = finite ? T(0) : T(1);
}

/// Sets present and past motor commands to the present rotor speeds. past(slot, rotor) refers to a
/// past one.
template <class T, class At, class Past>
PROPWASH_FN void settle_motors(const At& at, FleetLayout layout, int slots, const Past& past) {
  for (int rotor = 0; rotor < layout.rotors; ++rotor) {
    const T speed = at(FleetLayout::rotor_speeds + rotor);
    at(layout.rotor_command() + rotor) = speed;
    for (int slot = 0; slot < slots; ++slot) past(slot, rotor) = speed;
  }
}

}  // namespace propwash::detail
