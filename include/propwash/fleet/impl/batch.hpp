#pragma once
/// @file
/// The arguments of the kernels: plain data, so that caller and kernel may be compiled for
/// different instruction sets.

#include <cstddef>
#include <cstdint>

#include "propwash/vehicle/switches.hpp"

namespace propwash {

/// The memory of a fleet, its command and the steps to make.
template <class T>
struct FleetBatch {
  const T* state = nullptr;              ///< blocks of FleetLayout
  T* next_state = nullptr;               ///< the same blocks, to write; null: read only
  const std::byte* constants = nullptr;  ///< TickConstants of packs, one or one per block
  std::size_t constants_stride = 0;      ///< bytes from block to block; 0: one for all
  const std::uint32_t* ids = nullptr;    ///< of the vehicles, padded to whole blocks
  std::size_t size = 0;                  ///< vehicles
  int rotors = 0;                        ///< of a vehicle

  const T* rates = nullptr;   ///< rad/s, (size, 3); null: the command is rotor speeds
  const T* thrust = nullptr;  ///< N, (size)
  const T* speeds = nullptr;  ///< rad/s, (size, rotors)

  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< counter of the first step
  int substeps = 0;
  T dt = 0;
  TickSwitches switches;
  T floor = 0;                              ///< m, height of the ground
  const std::uint64_t* reset_at = nullptr;  ///< counter at each vehicle's reset, padded

  T* motor_delay = nullptr;  ///< ring of `motor_delay_slots` past commands per block; null: none
  int motor_delay_slots = 0;
  int motor_delay_steps = 0;
  T motor_delay_fraction = 0;

  T* action_delay = nullptr;  ///< ring of `action_delay_slots` past actions per block; null: none
  int action_delay_slots = 0;
  const std::uint32_t* action_delay_steps = nullptr;  ///< of each vehicle, padded to whole blocks
};

}  // namespace propwash
