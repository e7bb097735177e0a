#pragma once
/// @file
/// An error-state Kalman filter of a vehicle's motion, the biases of its IMU and the poses of
/// gates, from IMU readings, beacons in camera images and a range finder. See docs/estimate.md.
///
///     ErrorStateFilter<> filter{imu, start, {}, gates};
///     filter.propagate(gyroscope, accelerometer, dt);  // at each IMU reading
///     filter.update_beacons(sightings, camera, 2.0, filter.time(), accepted);
///     const auto estimate = filter.motion();

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "propwash/estimate/error_covariance.hpp"
#include "propwash/estimate/filter_types.hpp"
#include "propwash/estimate/observations.hpp"
#include "propwash/estimate/reading_history.hpp"
#include "propwash/estimate/strapdown.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/validate.hpp"
#include "propwash/world/camera.hpp"

namespace propwash {

/// The filter. Measurements may be late, up to the IMU readings kept, but their times must not
/// decrease: mean and covariance are those of the last measurement, from which the present motion
/// is integrated. After construction nothing allocates. A call that throws changes nothing.
template <class T = double>
class ErrorStateFilter {
 public:
  /// s; times that differ by less are equal.
  static constexpr double time_tolerance = detail::time_tolerance;
  /// Passes over the beacons of an image, at most.
  static constexpr int max_iterations = 6;
  /// m, a beacon that is expected nearer along the optical axis is not used.
  static constexpr T min_depth() { return T(0.1); }

  /// @throws ParameterError for parameters out of range, std::invalid_argument for a start,
  /// deviations, gates or options that are not finite or negative.
  ErrorStateFilter(const ImuParameters<double>& imu, const EstimatedMotion<double>& start,
                   const StartDeviations<double>& deviations = {},
                   const std::vector<GatePrior<double>>& gates = {},
                   const FilterOptions& options = {})
      : covariance_(gates.size()),
        offsets_(gates.size()),
        history_(options.history),
        prior_(gates.size()),
        points_(gates.size()),
        moved_offsets_(gates.size()),
        shift_(covariance_.padded()),
        correction_(covariance_.padded()),
        first_(covariance_.padded()),
        second_(covariance_.padded()) {
    validate(imu);
    detail::check_filter(start, deviations, gates, options);
    model_ = make_strapdown_model<T>(imu, options.gravity_W);
    beacon_bound_ = T(-2.0 * std::log(options.rejection));
    range_bound_ = T(detail::chi_square_bound(options.rejection));
    for (const auto& gate : gates) {
      GatePrior<T> prior;
      prior.position_W = cast<T>(gate.position_W);
      for (std::size_t k = 0; k < 4; ++k) prior.corners_W[k] = cast<T>(gate.corners_W[k]);
      prior.deviation = cast<T>(gate.deviation);
      gates_.push_back(prior);
    }
    mean_.q_WB = cast<T>(normalized(start.q_WB));
    mean_.position_W = cast<T>(start.position_W + rotate(normalized(start.q_WB), imu.position));
    mean_.velocity_W = cast<T>(start.velocity_W);
    present_ = mean_;
    update_time_ = options.time;
    history_.start(options.time);
    set_initial(imu, deviations);
  }

  /// (E2) to (E4): adds an IMU reading (rad/s and m/s^2, sensor axes), taken at the end of a step
  /// of dt [s].
  /// @throws std::invalid_argument for numbers that are not finite or above 1e6, and for dt that is
  /// not between time_tolerance and 10 s.
  void propagate(const Vec3<T>& gyroscope_S, const Vec3<T>& accelerometer_S, double dt) {
    detail::check_reading(cast<double>(gyroscope_S), cast<double>(accelerometer_S), dt);
    const ImuReading<T> reading{accelerometer_S, gyroscope_S, time() + dt};
    if (history_.is_empty()) history_.set_first(reading);
    if (history_.is_full()) absorb();
    const ImuReading<T>& before = history_.newest();
    present_ = strapdown_step(model_, present_, before, reading, static_cast<T>(dt)).end;
    history_.push(reading);
  }

  /// (E8) to (E11), (E14) to (E17): corrects by beacons in an image taken at `time` [s]. The noise
  /// of u and v is white, of standard deviation `deviation` [pixels]. Writes to `accepted`, one for
  /// each sighting, whether it was used; returns the number of those.
  /// @throws std::invalid_argument for invalid arguments.
  std::size_t update_beacons(Span<const BeaconSighting<T>> sightings, const Camera<T>& camera,
                             T deviation, double time, bool* accepted) {
    detail::check_beacons<T>(sightings, camera, deviation, gates());
    check_time(time);
    advance(time);
    covariance_.complete();
    const T variance = deviation * deviation;
    std::size_t count = 0;
    for (int i = 0; i < max_iterations; ++i) {
      begin(i == 0);
      count = 0;
      for (std::size_t k = 0; k < sightings.size(); ++k) {
        accepted[k] = add_beacon(sightings[k], camera, variance);
        if (accepted[k]) ++count;
      }
      if (count == 0 || nonlinearity(sightings, camera, accepted) < T(0.1) * deviation) break;
    }
    if (count > 0) finish();
    return count;
  }

  /// (E12) to (E17): corrects by the distance [m] to the plane z = 0 along a ray from `position_B`
  /// [m] along the unit vector `direction_B`, measured at `time` [s]. Returns whether it was used.
  /// @throws std::invalid_argument for invalid arguments.
  bool update_range(T range, T variance, const Vec3<T>& position_B, const Vec3<T>& direction_B,
                    double time) {
    if (!is_finite(range) || !is_finite(variance) || !(variance > T(0)) || !is_finite(position_B) ||
        !is_finite(direction_B) || !(abs(squared_norm(direction_B) - T(1)) < T(1e-3))) {
      detail::refuse("range: expected finite numbers, variance > 0 and a unit vector as direction");
    }
    check_time(time);
    advance(time);
    covariance_.complete();
    begin(true);
    if (!add_range(range, variance, position_B, direction_B)) return false;
    finish();
    return true;
  }

  /// The estimate at time().
  EstimatedMotion<T> motion() const {
    const Vec3<T> rate_B = corrected_rate(model_, present_, history_.newest());
    return {present_.position_W - rotate(present_.q_WB, model_.position_B),
            present_.velocity_W - rotate(present_.q_WB, cross(rate_B, model_.position_B)),
            present_.q_WB};
  }
  /// The same for the sensor, with the biases.
  const StrapdownState<T>& state() const { return present_; }
  /// Number of gates.
  std::size_t gates() const { return gates_.size(); }
  /// The estimated offset of a gate from its nominal pose.
  const GateOffset<T>& gate(std::size_t i) const { return offsets_[i]; }
  /// s, of the last IMU reading.
  double time() const { return history_.newest().time; }
  /// s, of the last measurement, or of a later IMU reading that is no longer kept: measurements
  /// from before this time are refused.
  double update_time() const { return update_time_; }
  /// The covariance of the errors at time(). Allocates, and integrates from the last measurement.
  ErrorCovariance<T> covariance() const {
    ErrorStateFilter copy = *this;
    copy.advance(time());
    return copy.covariance_;
  }

 private:
  void set_initial(const ImuParameters<double>& imu, const StartDeviations<double>& deviations) {
    const auto put = [&](std::size_t first, const Vec3<double>& deviation) {
      covariance_.set_variances(first, cast<T>(cwise_product(deviation, deviation)));
    };
    const auto all = [](double x) { return Vec3<double>{x, x, x}; };
    put(ErrorIndex::attitude, deviations.attitude);
    put(ErrorIndex::velocity, deviations.velocity);
    put(ErrorIndex::position, deviations.position);
    put(ErrorIndex::gyroscope, all(imu.gyroscope_bias_initial));
    put(ErrorIndex::accelerometer, all(imu.accelerometer_bias_initial));
    for (std::size_t i = 0; i < gates_.size(); ++i) {
      put(covariance_.landmark_index(i), cast<double>(gates_[i].deviation));
    }
  }

  void check_time(double time) const {
    if (!is_finite(time) || time > this->time() + time_tolerance) {
      detail::refuse("time = " + std::to_string(time) +
                     " s: expected at most the time of the last IMU " + "reading, " +
                     std::to_string(this->time()) + " s; propagate() first");
    }
    if (time < update_time_ - time_tolerance) {
      detail::refuse("time = " + std::to_string(time) + " s: expected at least that of the last " +
                     "measurement or of the oldest IMU reading kept, " +
                     std::to_string(update_time_) +
                     " s; pass measurements in the order of their times");
    }
  }

  /// (E5) to (E7): moves mean and covariance to the next reading of the history.
  void absorb() {
    const ImuReading<T>& reading = history_.oldest();
    const T dt = static_cast<T>(reading.time - update_time_);
    const auto step = strapdown_step(model_, mean_, history_.first(), reading, dt);
    covariance_.propagate(model_, strapdown_transition(model_, step, dt), step.end_WB);
    mean_ = step.end;
    update_time_ = reading.time;
    history_.pop();
  }
  /// Moves mean and covariance to `time`, between readings if necessary.
  void advance(double time) {
    while (!history_.is_empty() && history_.oldest().time <= time + time_tolerance) absorb();
    if (history_.is_empty() || time <= update_time_ + time_tolerance) return;
    history_.split(time);
    absorb();
  }

  /// Starts a pass over the measurements of one time: linearised at the mean, or at the result of
  /// the last pass.
  void begin(bool is_first) {
    if (is_first) {
      prior_ = covariance_;
      std::fill(shift_.begin(), shift_.end(), T(0));
      point_ = mean_;
      points_ = offsets_;
    } else {
      covariance_ = prior_;
      shift_ = correction_;
      correct(shift_, point_, points_);
    }
    std::fill(correction_.begin(), correction_.end(), T(0));
  }
  /// (E16) the estimate plus a correction of the mean.
  void correct(const std::vector<T>& correction, StrapdownState<T>& x,
               std::vector<GateOffset<T>>& offsets) const {
    const T* d = correction.data();
    x.q_WB = normalized(mean_.q_WB * from_rotation_vector(triple<T>(d, 0)));
    x.velocity_W = mean_.velocity_W + triple<T>(d, 3);
    x.position_W = mean_.position_W + triple<T>(d, 6);
    x.gyroscope_bias_S = mean_.gyroscope_bias_S + triple<T>(d, 9);
    x.accelerometer_bias_S = mean_.accelerometer_bias_S + triple<T>(d, 12);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const T* offset = d + covariance_.landmark_index(i);
      offsets[i] = {offsets_[i].x + offset[0], offsets_[i].y + offset[1],
                    offsets_[i].yaw + offset[2]};
    }
  }
  BeaconPrediction<T> predicted(const BeaconSighting<T>& seen, const Camera<T>& camera,
                                const StrapdownState<T>& x,
                                const std::vector<GateOffset<T>>& offsets) const {
    return predict_beacon(model_, x, camera, gates_[seen.gate], offsets[seen.gate], seen.corner);
  }
  /// h . (correction - shift): the change of a measured number from the point of linearisation.
  T change(const ObservationRow<T>& h, std::size_t gate) const {
    return covariance_.dot_row(h, gate, correction_.data()) -
           covariance_.dot_row(h, gate, shift_.data());
  }
  /// The largest error [pixels] of the linearisation at the result of a pass.
  T nonlinearity(Span<const BeaconSighting<T>> sightings, const Camera<T>& camera,
                 const bool* accepted) {
    correct(correction_, moved_, moved_offsets_);
    T largest(0);
    for (std::size_t k = 0; k < sightings.size(); ++k) {
      if (!accepted[k]) continue;
      const auto& seen = sightings[k];
      const auto h = predicted(seen, camera, point_, points_);
      const auto exact = predicted(seen, camera, moved_, moved_offsets_).pixel;
      largest = max(largest, abs(exact.u - h.pixel.u - change(h.u, seen.gate)));
      largest = max(largest, abs(exact.v - h.pixel.v - change(h.v, seen.gate)));
    }
    return largest;
  }
  /// (E14) to (E16) for one beacon. All beacons of an image are linearised at the same point.
  bool add_beacon(const BeaconSighting<T>& seen, const Camera<T>& camera, T variance) {
    const auto h = predicted(seen, camera, point_, points_);
    if (!(h.pixel.depth > min_depth())) return false;
    covariance_.product(h.u, seen.gate, first_.data());
    covariance_.product(h.v, seen.gate, second_.data());
    const T ru = seen.u - h.pixel.u - change(h.u, seen.gate);
    const T rv = seen.v - h.pixel.v - change(h.v, seen.gate);
    // the Cholesky factor of the covariance of the residual: [p 0; q r]
    const T p = sqrt(max(covariance_.dot_row(h.u, seen.gate, first_.data()), T(0)) + variance);
    const T q = covariance_.dot_row(h.v, seen.gate, first_.data()) / p;
    const T r =
        sqrt(max(covariance_.dot_row(h.v, seen.gate, second_.data()) + variance - q * q, variance));
    const T yu = ru / p;
    const T yv = (rv - q * yu) / r;
    const T distance = yu * yu + yv * yv;
    if (!is_finite(distance) || distance > beacon_bound_) return false;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      first_[i] /= p;
      second_[i] = (second_[i] - q * first_[i]) / r;
      correction_[i] += first_[i] * yu + second_[i] * yv;
    }
    covariance_.subtract(first_.data(), second_.data());
    return true;
  }
  /// (E14) to (E16) for the range.
  bool add_range(T range, T variance, const Vec3<T>& position_B, const Vec3<T>& direction_B) {
    const auto h = predict_range(model_, mean_, position_B, direction_B);
    if (!(h.descent > T(0.05)) || !(h.range > T(0))) return false;
    covariance_.product(h.row, gates(), first_.data());
    const T residual = range - h.range;
    const T p = sqrt(max(covariance_.dot_row(h.row, gates(), first_.data()), T(0)) + variance);
    const T y = residual / p;
    if (!is_finite(y) || y * y > range_bound_) return false;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      first_[i] /= p;
      second_[i] = T(0);
      correction_[i] += first_[i] * y;
    }
    covariance_.subtract(first_.data(), second_.data());
    return true;
  }
  /// (E16), (E17): adds the correction to the estimate; integrates the present motion again.
  void finish() {
    const Vec3<T> rotation = triple<T>(correction_.data(), 0);
    correct(correction_, moved_, moved_offsets_);
    mean_ = moved_;
    offsets_ = moved_offsets_;
    covariance_.reset(rotation);
    present_ = mean_;
    double from = update_time_;
    history_.each([&](const ImuReading<T>& before, const ImuReading<T>& reading) {
      present_ =
          strapdown_step(model_, present_, before, reading, static_cast<T>(reading.time - from))
              .end;
      from = reading.time;
    });
  }

  StrapdownModel<T> model_{};
  std::vector<GatePrior<T>> gates_;
  T beacon_bound_{}, range_bound_{};  // of the squared normalised residual
  // at the time of the last measurement
  double update_time_ = 0.0;
  StrapdownState<T> mean_{};
  ErrorCovariance<T> covariance_;
  std::vector<GateOffset<T>> offsets_;
  // since then
  ReadingHistory<T> history_;
  StrapdownState<T> present_{};
  // work space of an update
  ErrorCovariance<T> prior_;
  StrapdownState<T> point_{}, moved_{};  // of linearisation, and corrected
  std::vector<GateOffset<T>> points_, moved_offsets_;
  std::vector<T> shift_, correction_, first_, second_;  // of the mean; columns of the covariance
};

}  // namespace propwash
