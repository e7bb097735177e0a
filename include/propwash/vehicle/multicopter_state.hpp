#pragma once
/// @file
/// The state of a multicopter, with the vector operations that integrators need.

#include "propwash/math/quat.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// The state of the rigid body; frames and units as in MulticopterState.
template <class T>
struct RigidBodyState {
  Vec3<T> position{};                      ///< m
  Vec3<T> velocity{};                      ///< m/s
  Quat<T> attitude = Quat<T>::identity();  ///< q_WB
  Vec3<T> body_rates{};                    ///< rad/s
  PROPWASH_MEMBERS(position, velocity, attitude, body_rates)
};

template <class T>
PROPWASH_FN RigidBodyState<T> operator+(const RigidBodyState<T>& a, const RigidBodyState<T>& b) {
  return {a.position + b.position, a.velocity + b.velocity, a.attitude + b.attitude,
          a.body_rates + b.body_rates};
}
template <class T, class S>
PROPWASH_FN RigidBodyState<T> operator*(const RigidBodyState<T>& a, const S& s) {
  return {a.position * s, a.velocity * s, a.attitude * s, a.body_rates * s};
}

/// The state of a multicopter. World frame W: right-handed, z up. Body frame B: origin at the
/// centre of mass, x forward, y left, z up.
template <class T, int N>
struct MulticopterState {
  Vec3<T> position{};                      ///< m, of the centre of mass, world frame
  Vec3<T> velocity{};                      ///< m/s, world frame
  Quat<T> attitude = Quat<T>::identity();  ///< q_WB, a unit quaternion, from body to world frame
  Vec3<T> body_rates{};                    ///< rad/s, body frame
  SmallArray<T, N> rotor_speeds{};         ///< rad/s, positive for thrust along the rotor axis
  PROPWASH_MEMBERS(position, velocity, attitude, body_rates, rotor_speeds)
};

template <class T, int N>
PROPWASH_FN MulticopterState<T, N> operator+(const MulticopterState<T, N>& a,
                                             const MulticopterState<T, N>& b) {
  return {a.position + b.position, a.velocity + b.velocity, a.attitude + b.attitude,
          a.body_rates + b.body_rates, a.rotor_speeds + b.rotor_speeds};
}
template <class T, int N, class S>
PROPWASH_FN MulticopterState<T, N> operator*(const MulticopterState<T, N>& a, const S& s) {
  return {a.position * s, a.velocity * s, a.attitude * s, a.body_rates * s, a.rotor_speeds * s};
}

/// The rigid-body part of a state.
template <class T, int N>
PROPWASH_FN RigidBodyState<T> rigid_body(const MulticopterState<T, N>& state) {
  return {state.position, state.velocity, state.attitude, state.body_rates};
}
/// Combines the rigid-body part and the rotor speeds.
template <class T, int N>
PROPWASH_FN MulticopterState<T, N> with_rotors(const RigidBodyState<T>& body,
                                               const SmallArray<T, N>& rotor_speeds) {
  return {body.position, body.velocity, body.attitude, body.body_rates, rotor_speeds};
}

/// Advances the velocities by k dt; see SymplecticEuler.
template <class T, int N, class S>
PROPWASH_FN MulticopterState<T, N> kick(const MulticopterState<T, N>& x,
                                        const MulticopterState<T, N>& k, const S& dt) {
  return {x.position, x.velocity + k.velocity * dt, x.attitude, x.body_rates + k.body_rates * dt,
          x.rotor_speeds + k.rotor_speeds * dt};
}
/// Advances position and attitude by k dt; see SymplecticEuler.
template <class T, int N, class S>
PROPWASH_FN MulticopterState<T, N> drift(const MulticopterState<T, N>& x,
                                         const MulticopterState<T, N>& k, const S& dt) {
  return {x.position + k.position * dt, x.velocity, x.attitude + k.attitude * dt, x.body_rates,
          x.rotor_speeds};
}

}  // namespace propwash
