#pragma once
/// @file
/// The binding functions, one for each bind_*.cpp.

#include <pybind11/pybind11.h>

namespace propwash::bindings {

using Bind = void(pybind11::module_&);

Bind bind_commands, bind_parameters, bind_control, bind_flatness, bind_multicopter, bind_imu,
    bind_linearize, bind_symbolic, bind_car, bind_estimate, bind_fleet, bind_gradient,
    bind_open_loop, bind_world, bind_sensors, bind_world_sensors, bind_image, bind_render,
    bind_learn, bind_learn_tasks, bind_learn_scenes;

}  // namespace propwash::bindings
