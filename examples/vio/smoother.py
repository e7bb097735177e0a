"""A fixed-lag smoother of keyframes: combined IMU factors and stereo factors (GTSAM)."""

from __future__ import annotations

from dataclasses import dataclass

import gtsam
import numpy as np
from gtsam.symbol_shorthand import B, L, V, X
from propwash import MotionEstimate
from propwash.vehicle import ImuParameters

from vio.rig import BODY_FROM_CAMERA, Array, Rig, VioError
from vio.tracker import Features


@dataclass(frozen=True)
class Tuning:
    """The smoother's window and noise; see docs/vio.md."""

    lag: float = 1.5
    """s."""
    pixel: float = 0.3
    """px, standard deviation of a track, the same error in both images."""
    disparity: float = 0.1
    """px, standard deviation of the difference between the images."""
    huber: float = 2.0
    """Standard deviations beyond which a measurement has less weight."""
    gate: float = 5.0
    """px, largest difference from the predicted measurement of a landmark."""
    final: float = 2.0
    """px, largest difference after the update."""
    iterations: int = 1
    """Additional Gauss-Newton steps at each keyframe."""


class Smoother:
    """Estimates the motion from IMU readings and the stereo features of keyframes."""

    def __init__(
        self, rig: Rig, imu: ImuParameters, gravity: float, start: MotionEstimate, tuning: Tuning
    ) -> None:
        self._tuning, self._rig, self._imu = tuning, rig, imu
        self.restarts = 0
        """Windows that could not be solved."""
        u, v = rig.centre
        f = rig.focal_length
        self._calibration = gtsam.Cal3_S2Stereo(f, f, 0.0, u, v, rig.baseline)
        left = np.array([0.0, rig.baseline / 2.0, 0.0])
        self._camera = gtsam.Pose3(gtsam.Rot3(BODY_FROM_CAMERA), left)
        self._noise = gtsam.noiseModel.Robust.Create(
            gtsam.noiseModel.mEstimator.Huber.Create(tuning.huber),
            gtsam.noiseModel.Gaussian.Covariance(_covariance(tuning)),
        )
        parameters = gtsam.PreintegrationCombinedParams.MakeSharedU(gravity)
        eye = np.eye(3)
        # smaller densities make the equations singular to double precision
        for put, density, smallest in (
            (parameters.setAccelerometerCovariance, imu.accelerometer_noise_density, 1e-4),
            (parameters.setGyroscopeCovariance, imu.gyroscope_noise_density, 1e-5),
            (parameters.setBiasAccCovariance, imu.accelerometer_bias_walk, 5e-5),
            (parameters.setBiasOmegaCovariance, imu.gyroscope_bias_walk, 2e-5),
        ):
            put(max(density, smallest) ** 2 * eye)
        parameters.setIntegrationCovariance(1e-10 * eye)
        self._time = 0.0
        self._reading: tuple[Array, Array] | None = None
        self._key, self._key_time = 0, 0.0
        self._state = gtsam.NavState(
            gtsam.Pose3(gtsam.Rot3.Quaternion(*start.attitude), start.position), start.velocity
        )
        self._bias = gtsam.imuBias.ConstantBias()
        self._integrated = gtsam.PreintegratedCombinedMeasurements(parameters, self._bias)
        self._last_pose = self._state.pose()
        self._pending: dict[int, tuple[int, Array]] = {}
        self._landmarks: dict[int, float] = {}
        self._new_smoother(0.005, 0.01, 0.02, 1.0)

    def _new_smoother(
        self, position: float, attitude: float, velocity: float, bias_fraction: float
    ) -> None:
        """Starts a window at the present state with a prior of these deviations.

        m, rad, m/s, and for the biases a fraction of their deviations at the start.
        """
        options = gtsam.ISAM2Params()
        options.setRelinearizeThreshold(0.01)
        options.relinearizeSkip = 1
        options.findUnusedFactorSlots = True
        options.enablePartialRelinearizationCheck = True
        self._smoother = gtsam.IncrementalFixedLagSmoother(self._tuning.lag, options)
        self._pending.clear()
        self._landmarks.clear()
        key, state = self._key, self._state
        graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        pose_noise = gtsam.noiseModel.Diagonal.Sigmas([attitude] * 3 + [position] * 3)
        initial = [max(bias_fraction * self._imu.accelerometer_bias_initial, 1e-4)] * 3
        initial += [max(bias_fraction * self._imu.gyroscope_bias_initial, 1e-5)] * 3
        graph.add(gtsam.PriorFactorPose3(X(key), state.pose(), pose_noise))
        graph.add(
            gtsam.PriorFactorVector(
                V(key), state.velocity(), gtsam.noiseModel.Isotropic.Sigma(3, velocity)
            )
        )
        graph.add(
            gtsam.PriorFactorConstantBias(
                B(key), self._bias, gtsam.noiseModel.Diagonal.Sigmas(initial)
            )
        )
        values.insert(X(key), state.pose())
        values.insert(V(key), state.velocity())
        values.insert(B(key), self._bias)
        times = {name(key): self._key_time for name in (X, V, B)}
        self._smoother.update(graph, values, times)

    @property
    def biases(self) -> tuple[Array, Array]:
        """Of the accelerometer [m/s^2] and the gyroscope [rad/s]."""
        return self._bias.accelerometer(), self._bias.gyroscope()

    def add_imu(self, time: float, specific_force: Array, angular_rate: Array) -> None:
        """Integrates a reading of the instant `time` [s]: the mean of it and the previous one.

        Raises VioError if the time is not later than that of the previous reading.
        """
        if not time > self._time:
            raise VioError(
                f"IMU reading at {time:.6f} s: expected a time after the previous reading, "
                f"{self._time:.6f} s; pass readings in order of their time stamps"
            )
        force, rate = self._reading or (specific_force, angular_rate)
        self._integrated.integrateMeasurement(
            0.5 * (force + specific_force), 0.5 * (rate + angular_rate), time - self._time
        )
        self._reading, self._time = (specific_force, angular_rate), time

    def _predicted(self) -> gtsam.NavState:
        return self._integrated.predict(self._state, self._bias)

    @property
    def estimate(self) -> MotionEstimate:
        """The last keyframe's state, propagated by the IMU readings since then."""
        state = self._predicted()
        attitude = state.attitude().toQuaternion()
        return MotionEstimate(
            np.asarray(state.position()),
            np.asarray(state.velocity()),
            np.array([attitude.w(), attitude.x(), attitude.y(), attitude.z()]),
        )

    def camera_motion(self) -> tuple[Array, Array]:
        """Rotation and translation of the previous left camera's frame in the present one.

        The previous one is that of the last call.
        """
        pose = self._predicted().pose()
        before = self._last_pose.compose(self._camera)
        motion = pose.compose(self._camera).between(before)
        self._last_pose = pose
        return motion.rotation().matrix(), np.asarray(motion.translation())

    def add_keyframe(self, features: Features) -> set[int]:
        """Adds a keyframe at the time of the last reading; returns the ids of rejected features.

        Raises VioError if the features have another time.
        """
        if abs(features.time - self._time) > 1e-6:
            raise VioError(
                f"image at {features.time:.6f} s: expected the time of the last IMU reading, "
                f"{self._time:.6f} s; add all readings up to the image first"
            )
        before, state = self._key, self._predicted()
        self._key += 1
        graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        times = {name(self._key): self._time for name in (X, V, B)}
        values.insert(X(self._key), state.pose())
        values.insert(V(self._key), state.velocity())
        values.insert(B(self._key), self._bias)
        keys = (X(before), V(before), X(self._key), V(self._key), B(before), B(self._key))
        graph.add(gtsam.CombinedImuFactor(*keys, self._integrated))
        rejected = self._add_features(features, state.pose(), graph, values, times)
        self._integrated.resetIntegrationAndSetBias(self._bias)
        self._key_time = self._time
        try:
            self._smoother.update(graph, values, times)
            for _ in range(self._tuning.iterations):
                self._smoother.update()
            self._read_back(features, rejected)
        except RuntimeError:
            # the window is underdetermined: restart it at the prediction
            self.restarts += 1
            self._state = state
            self._new_smoother(0.05, 0.02, 0.1, 0.1)
        self._integrated.resetIntegrationAndSetBias(self._bias)
        self._last_pose = self._state.pose()
        return rejected

    def _add_features(
        self,
        features: Features,
        pose: gtsam.Pose3,
        graph: gtsam.NonlinearFactorGraph,
        values: gtsam.Values,
        times: dict[int, float],
    ) -> set[int]:
        """Adds stereo factors of landmarks that this and another keyframe in the window have."""
        oldest = self._time - 0.8 * self._tuning.lag
        self._landmarks = {i: t for i, t in self._landmarks.items() if t > oldest}
        rejected: set[int] = set()
        camera = pose.compose(self._camera)
        pending: dict[int, tuple[int, Array]] = {}
        points = self._rig.points(features.measured)
        for number, (i, measured) in enumerate(
            zip(features.ids.tolist(), features.measured, strict=True)
        ):
            if i in self._landmarks:
                known = self._smoother.calculateEstimatePoint3(L(i))
                expected = self._rig.measurements(camera.transformTo(known))
                if not np.max(np.abs(expected - measured)) < self._tuning.gate:
                    rejected.add(i)
                    continue
            elif i in self._pending:
                key, first = self._pending[i]
                point = camera.transformFrom(points[number])
                values.insert(L(i), point)
                # keeps a distant landmark determined
                weak = gtsam.noiseModel.Isotropic.Sigma(3, 3.0 * points[number, 2])
                graph.add(gtsam.PriorFactorPoint3(L(i), point, weak))
                graph.add(self._factor(first, key, i))
            else:
                pending[i] = (self._key, measured.copy())
                continue
            graph.add(self._factor(measured, self._key, i))
            self._landmarks[i] = self._time
            times[L(i)] = self._time
        self._pending = pending
        return rejected

    def _factor(self, measured: Array, key: int, landmark: int) -> gtsam.GenericStereoFactor3D:
        return gtsam.GenericStereoFactor3D(
            gtsam.StereoPoint2(*measured),
            self._noise,
            X(key),
            L(landmark),
            self._calibration,
            False,
            False,
            self._camera,
        )

    def _read_back(self, features: Features, rejected: set[int]) -> None:
        """Reads the last state and rejects features that disagree with it."""
        key = self._key
        pose = self._smoother.calculateEstimatePose3(X(key))
        velocity = self._smoother.calculateEstimateVector(V(key))
        self._bias = self._smoother.calculateEstimateConstantBias(B(key))
        self._state = gtsam.NavState(pose, velocity)
        camera = pose.compose(self._camera)
        for i, measured in zip(features.ids.tolist(), features.measured, strict=True):
            if i in self._landmarks and i not in rejected:
                known = self._smoother.calculateEstimatePoint3(L(i))
                expected = self._rig.measurements(camera.transformTo(known))
                if not np.max(np.abs(expected - measured)) < self._tuning.final:
                    rejected.add(i)
        for i in rejected:
            self._landmarks.pop(i, None)


def _covariance(tuning: Tuning) -> Array:
    """(3, 3) px^2, of u left, u right, v: a track drifts in both images by the same amount."""
    track, disparity = tuning.pixel**2, tuning.disparity**2
    return np.array([[track, track, 0.0], [track, track + disparity, 0.0], [0.0, 0.0, track]])
