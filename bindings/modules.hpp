#pragma once
/// @file
/// The extension modules and the binding functions of each, one for each bind_*.cpp.

#include <pybind11/pybind11.h>

#include <initializer_list>

namespace propwash::bindings {

using Bind = void(pybind11::module_&);

/// Adds the contents of an extension module, which may use the classes of the modules `needed`.
void add_contents(pybind11::module_& m, std::initializer_list<const char*> needed,
                  std::initializer_list<Bind*> contents);

// _core
Bind bind_commands, bind_parameters, bind_multicopter, bind_imu, bind_car, bind_fleet,
    bind_sampling, bind_learn;
// _models
Bind bind_control, bind_flatness, bind_car_fleet, bind_device_fleet;
// _float64
Bind bind_fleet_float64;
// _derivatives
Bind bind_linearize, bind_mpc, bind_symbolic, bind_gradient, bind_open_loop;
// _world
Bind bind_world, bind_sensors, bind_world_sensors, bind_estimate;
// _learn
Bind bind_learn_tasks, bind_learn_scenes;
// _render
Bind bind_image, bind_render;

}  // namespace propwash::bindings
