#pragma once
/// @file
/// What a camera and a range finder see of gates and ground, and the derivatives with respect to
/// the errors of the estimate. See docs/estimate.md, (E8) to (E13).

#include <array>
#include <cstddef>

#include "propwash/estimate/error_covariance.hpp"
#include "propwash/estimate/strapdown.hpp"
#include "propwash/math/mat3_algebra.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/world/camera.hpp"
#include "propwash/world/distortion.hpp"
#include "propwash/world/shapes.hpp"

namespace propwash {

/// The nominal pose of a gate as its markers, and the deviations of its offset.
template <class P>
struct GatePrior {
  Vec3<P> position_W{};                ///< m, nominal, of the centre
  std::array<Vec3<P>, 4> corners_W{};  ///< m, from centre to each marker at the nominal attitude
  Vec3<P> deviation{};                 ///< m, m, rad: of the offsets in x, y and yaw
};

/// The offset of a gate from its nominal pose.
template <class T>
struct GateOffset {
  T x{};    ///< m
  T y{};    ///< m
  T yaw{};  ///< rad, about the vertical through its centre
};

/// A gate that is displaced by at most `bounds` (m, m, rad), uniformly distributed: the variance of
/// its offset is bound^2 / 3. Corners: 0 upper left, 1 upper right, 2 lower right, 3 lower left.
template <class P>
GatePrior<P> make_gate_prior(const Pose& pose, Gate gate, const Vec3<double>& bounds) {
  gate.marker_corners = {0, 1, 2, 3};
  const auto markers = gate_markers("", {{}, pose.attitude_WS}, gate);
  GatePrior<P> prior;
  prior.position_W = cast<P>(pose.position_W);
  for (std::size_t i = 0; i < 4; ++i) prior.corners_W[i] = cast<P>(markers[i].position_W);
  prior.deviation = cast<P>(bounds * sqrt(1.0 / 3.0));
  return prior;
}

/// (E8) a marker in the world [m].
template <class T, class P>
PROPWASH_FN Vec3<T> marker_position(const GatePrior<P>& gate, const GateOffset<T>& offset,
                                    int corner) {
  const Vec3<P>& arm_W = gate.corners_W[static_cast<std::size_t>(corner)];
  const T c = cos(offset.yaw), s = sin(offset.yaw);
  return {c * arm_W.x - s * arm_W.y + (offset.x + gate.position_W.x),
          s * arm_W.x + c * arm_W.y + (offset.y + gate.position_W.y),
          T(arm_W.z + gate.position_W.z)};
}

/// The pixel of a marker with its derivatives. At depth 0 the numbers are not finite.
template <class T>
struct BeaconPrediction {
  Pixel<T> pixel{};       ///< pixels, and the depth in m
  ObservationRow<T> u{};  ///< derivatives of u, pixels
  ObservationRow<T> v{};  ///< derivatives of v, pixels
};

/// (E9) the position of a marker in the camera frame [m].
template <class T, class P>
PROPWASH_FN Vec3<T> marker_in_camera(const StrapdownModel<P>& model, const StrapdownState<T>& x,
                                     const Camera<P>& camera, const Vec3<T>& marker_W) {
  const Vec3<T> from_sensor_B = rotate_inverse(x.q_WB, marker_W - x.position_W);
  return rotate_inverse(camera.attitude, from_sensor_B - (camera.position - model.position_B));
}

/// (E9) to (E11): the pixel of corner `corner` of a gate.
template <class T, class P>
PROPWASH_FN BeaconPrediction<T> predict_beacon(const StrapdownModel<P>& model,
                                               const StrapdownState<T>& x, const Camera<P>& camera,
                                               const GatePrior<P>& gate,
                                               const GateOffset<T>& offset, int corner) {
  const T zero(constant<T>(0));
  const auto half = constant<P>(0.5);
  const Vec3<T> marker_W = marker_position(gate, offset, corner);
  const Vec3<T> from_sensor_B = rotate_inverse(x.q_WB, marker_W - x.position_W);
  const Vec3<T> point_C = marker_in_camera(model, x, camera, marker_W);
  const T per_depth = T(constant<T>(1)) / point_C.x;
  const T across = -point_C.y * per_depth, down = -point_C.z * per_depth;
  const auto image = distort(camera.lens, across, down);
  // the marker turns about the vertical through the centre of its gate
  const Vec3<T> swing_W{gate.position_W.y + offset.y - marker_W.y,
                        marker_W.x - offset.x - gate.position_W.x, zero};
  const auto row = [&](const T& of_across, const T& of_down) PROPWASH_LAMBDA {
    const T fx = of_across * camera.focal * per_depth, fy = of_down * camera.focal * per_depth;
    const Vec3<T> of_point_C{-(fx * across + fy * down), -fx, -fy};
    const Vec3<T> of_point_B = rotate(camera.attitude, of_point_C);
    const Vec3<T> of_point_W = rotate(x.q_WB, of_point_B);
    return ObservationRow<T>{cross(of_point_B, from_sensor_B),
                             -of_point_W,
                             {of_point_W.x, of_point_W.y, dot(of_point_W, swing_W)}};
  };
  return {{image.x * camera.focal + camera.width * half,
           image.y * camera.focal + camera.height * half, point_C.x},
          row(image.xx, image.xy),
          row(image.xy, image.yy)};
}

/// The distance to the ground along a ray, with its derivatives.
template <class T>
struct RangePrediction {
  T range{};                ///< m
  T descent{};              ///< -, the downward component of the direction of the ray
  ObservationRow<T> row{};  ///< derivatives of the range
};

/// (E12), (E13): the distance [m] from a point of the body, `position` [m], along the unit vector
/// `direction`, both in body axes, to the plane z = 0. Not finite for a level ray.
template <class T, class P>
PROPWASH_FN RangePrediction<T> predict_range(const StrapdownModel<P>& model,
                                             const StrapdownState<T>& x, const Vec3<P>& position_B,
                                             const Vec3<P>& direction_B) {
  const T zero(constant<T>(0));
  const T one(constant<T>(1));
  const Vec3<T> up_B = rotate_inverse(x.q_WB, Vec3<T>{zero, zero, one});
  const Vec3<T> arm_B = cast<T>(position_B - model.position_B);
  const Vec3<T> along_B = cast<T>(direction_B);
  const T descent = -dot(up_B, along_B);
  const T height = x.position_W.z + dot(up_B, arm_B);
  const T range = height / descent;
  const Vec3<T> of_attitude = cross(arm_B, up_B) + cross(along_B, up_B) * range;
  return {range, descent, {of_attitude * (one / descent), {zero, zero, one / descent}, {}}};
}

}  // namespace propwash
