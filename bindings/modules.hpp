#pragma once
/// @file
/// One function for each file of bindings.

#include <pybind11/pybind11.h>

namespace propwash::bindings {

void bind_commands(pybind11::module_& m);
void bind_outer_commands(pybind11::module_& m);
void bind_control(pybind11::module_& m);
void bind_integrate(pybind11::module_& m);
void bind_multicopter(pybind11::module_& m);
void bind_imu(pybind11::module_& m);
void bind_linearize(pybind11::module_& m);
void bind_open_loop(pybind11::module_& m);
void bind_car(pybind11::module_& m);
void bind_fleet(pybind11::module_& m);
void bind_world(pybind11::module_& m);
void bind_sensors(pybind11::module_& m);
void bind_world_sensors(pybind11::module_& m);
void bind_image(pybind11::module_& m);
void bind_render(pybind11::module_& m);
void bind_learn(pybind11::module_& m);
void bind_learn_tasks(pybind11::module_& m);

}  // namespace propwash::bindings
