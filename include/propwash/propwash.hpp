#pragma once
/// @file
/// All of propwash but the render client.

#include "propwash/fwd.hpp"
#include "propwash/version.hpp"

#include "propwash/math/eigen.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/scalar.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/structured.hpp"
#include "propwash/math/vec3.hpp"

#include "propwash/random/normal.hpp"
#include "propwash/random/threefry.hpp"

#include "propwash/model/battery.hpp"
#include "propwash/model/car.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/model/drag.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/model/motor.hpp"
#include "propwash/model/process_noise.hpp"
#include "propwash/model/rigid_body.hpp"
#include "propwash/model/rotor.hpp"
#include "propwash/model/rotor_drag.hpp"

#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/integrate/rk4.hpp"
#include "propwash/integrate/symplectic_euler.hpp"

#include "propwash/control/allocation.hpp"
#include "propwash/control/low_pass.hpp"
#include "propwash/control/pid.hpp"
#include "propwash/control/rate_controller.hpp"

#include "propwash/vehicle/car.hpp"
#include "propwash/vehicle/multicopter.hpp"
#include "propwash/vehicle/multicopter_model.hpp"
#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"
#include "propwash/vehicle/validate.hpp"
#include "propwash/vehicle/vehicles.hpp"
