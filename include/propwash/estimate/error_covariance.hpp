#pragma once
/// @file
/// The covariance of the errors of a filter, and what its updates do to it. See docs/estimate.md,
/// (E5) to (E7) and (E14) to (E17).
///
/// Only the first 15 errors, those of the motion, change with time, so a step costs of the order of
/// 15 rows, not of the whole matrix. No function here allocates, except the constructor.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "propwash/estimate/strapdown.hpp"
#include "propwash/math/mat3_algebra.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// The order of the errors.
struct ErrorIndex {
  static constexpr std::size_t attitude = 0;        ///< rad, body axes
  static constexpr std::size_t velocity = 3;        ///< m/s, world axes
  static constexpr std::size_t position = 6;        ///< m, world axes
  static constexpr std::size_t gyroscope = 9;       ///< rad/s, sensor axes
  static constexpr std::size_t accelerometer = 12;  ///< m/s^2, sensor axes
  static constexpr std::size_t landmarks = 15;      ///< three errors of each landmark
};

/// The derivatives of a measured number with respect to the errors that it depends on.
template <class T>
struct ObservationRow {
  Vec3<T> attitude{};  ///< per rad
  Vec3<T> position{};  ///< per m
  Vec3<T> landmark{};  ///< of the landmark that is measured; zero without one
};

/// A symmetric matrix of errors: those of the motion, then three of each landmark.
template <class T>
class ErrorCovariance {
 public:
  /// All zero.
  explicit ErrorCovariance(std::size_t landmarks)
      : size_(ErrorIndex::landmarks + 3 * landmarks),
        stride_((size_ + 7) / 8 * 8),
        numbers_(size_ * stride_),
        scratch_(3 * stride_) {}

  /// Number of errors.
  std::size_t size() const { return size_; }
  /// Element (i, j).
  T operator()(std::size_t i, std::size_t j) const {
    return i < j ? numbers_[i * stride_ + j] : numbers_[j * stride_ + i];
  }
  /// Sets three variances, of which the covariances are zero.
  void set_variances(std::size_t first, const Vec3<T>& variance) {
    for (std::size_t k = 0; k < 3; ++k) row(first + k)[first + k] = variance[static_cast<int>(k)];
  }

  /// (E7) P <- F P F^T + Q over a step; `end_WB` is the attitude at its end.
  void propagate(const StrapdownModel<T>& model, const StrapdownTransition<T>& f,
                 const Mat3<T>& end_WB) {
    transform(f, stride_);
    transpose_motion();
    transform(f, ErrorIndex::landmarks);  // the columns, as rows of the transposed block
    add_noise(model, end_WB, f.dt);
    for (std::size_t i = 1; i < ErrorIndex::landmarks; ++i) {
      for (std::size_t j = 0; j < i; ++j) row(i)[j] = row(j)[i];
    }
  }

  /// Copies the errors of the motion to the rows of the landmarks; required after propagate() and
  /// before updates.
  void complete() {
    for (std::size_t i = ErrorIndex::landmarks; i < size_; ++i) {
      for (std::size_t j = 0; j < ErrorIndex::landmarks; ++j) row(i)[j] = row(j)[i];
    }
  }

  /// P h, for the derivatives h of a measured number; `landmark` is the index of its landmark.
  void product(const ObservationRow<T>& h, std::size_t landmark, T* to) const {
    std::fill_n(to, stride_, T(0));
    const auto add = [&](std::size_t first, const Vec3<T>& factors) {
      for (std::size_t k = 0; k < 3; ++k) {
        const T factor = factors[static_cast<int>(k)];
        if (factor == T(0)) continue;
        const T* from = row(first + k);
        for (std::size_t j = 0; j < stride_; ++j) to[j] += factor * from[j];
      }
    };
    add(ErrorIndex::attitude, h.attitude);
    add(ErrorIndex::position, h.position);
    if (landmark < landmarks()) add(landmark_index(landmark), h.landmark);
  }
  /// h . x, for a vector x of all errors.
  T dot_row(const ObservationRow<T>& h, std::size_t landmark, const T* x) const {
    const T motion = dot(h.attitude, triple<T>(x, 0)) +
                     dot(h.position, triple<T>(x, static_cast<int>(ErrorIndex::position)));
    return landmark < landmarks()
               ? motion + dot(h.landmark, triple<T>(x, static_cast<int>(landmark_index(landmark))))
               : motion;
  }
  /// (E15) P <- P - c c^T - d d^T, exactly symmetric.
  void subtract(const T* c, const T* d) {
    for (std::size_t i = 0; i < size_; ++i) {
      const T ci = c[i], di = d[i];
      if (ci == T(0) && di == T(0)) continue;
      T* to = row(i);
      for (std::size_t j = 0; j < stride_; ++j) to[j] -= ci * c[j] + di * d[j];
    }
  }

  /// (E17) the reset after a correction of the attitude by `rotation` [rad]: the attitude error is
  /// defined in the axes of the new estimate.
  void reset(const Vec3<T>& rotation) {
    const Mat3<T> g = Mat3<T>::identity() + skew(rotation * constant<T>(-0.5));
    rotate_rows(g, size_);
    for (std::size_t i = 3; i < size_; ++i) {
      for (std::size_t j = 0; j < 3; ++j) row(i)[j] = row(j)[i];
    }
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = i + 1; j < 3; ++j) std::swap(row(i)[j], row(j)[i]);
    }
    rotate_rows(g, 3);
    for (std::size_t i = 1; i < 3; ++i) {
      for (std::size_t j = 0; j < i; ++j) row(i)[j] = row(j)[i];
    }
  }

  /// Number of landmarks.
  std::size_t landmarks() const { return (size_ - ErrorIndex::landmarks) / 3; }
  /// Length of a vector of all errors, rounded up; the numbers at its end are zero.
  std::size_t padded() const { return stride_; }
  /// The first error of a landmark.
  static std::size_t landmark_index(std::size_t landmark) {
    return ErrorIndex::landmarks + 3 * landmark;
  }

 private:
  T* row(std::size_t i) { return numbers_.data() + i * stride_; }
  const T* row(std::size_t i) const { return numbers_.data() + i * stride_; }

  struct Block {
    const Mat3<T>* matrix;
    std::size_t first;
  };
  /// to[j] = sum over blocks of row i of the block times three rows, for j < columns.
  template <std::size_t N>
  void combine(const Block (&blocks)[N], std::size_t i, std::size_t columns, T* to) const {
    for (std::size_t b = 0; b < N; ++b) {
      const T* x = row(blocks[b].first);
      const T *y = x + stride_, *z = y + stride_;
      const Mat3<T>& m = *blocks[b].matrix;
      const int k = static_cast<int>(i);
      const T mx = m(k, 0), my = m(k, 1), mz = m(k, 2);
      for (std::size_t j = 0; j < columns; ++j) to[j] += mx * x[j] + my * y[j] + mz * z[j];
    }
  }
  /// (E6) replaces the rows of attitude, velocity and position by F times all rows.
  void transform(const StrapdownTransition<T>& f, std::size_t columns) {
    using Index = ErrorIndex;
    const Block position[] = {{&f.position_attitude, Index::attitude},
                              {&f.position_gyroscope, Index::gyroscope},
                              {&f.position_accelerometer, Index::accelerometer}};
    const Block velocity[] = {{&f.velocity_attitude, Index::attitude},
                              {&f.velocity_gyroscope, Index::gyroscope},
                              {&f.velocity_accelerometer, Index::accelerometer}};
    const Block attitude[] = {{&f.attitude_attitude, Index::attitude},
                              {&f.attitude_gyroscope, Index::gyroscope}};
    for (std::size_t i = 0; i < 3; ++i) {
      T* to = row(Index::position + i);
      const T* speed = row(Index::velocity + i);
      for (std::size_t j = 0; j < columns; ++j) to[j] += f.dt * speed[j];
      combine(position, i, columns, to);
    }
    for (std::size_t i = 0; i < 3; ++i) combine(velocity, i, columns, row(Index::velocity + i));
    std::fill_n(scratch_.data(), 3 * stride_, T(0));
    for (std::size_t i = 0; i < 3; ++i) combine(attitude, i, columns, &scratch_[i * stride_]);
    for (std::size_t i = 0; i < 3; ++i) std::copy_n(&scratch_[i * stride_], columns, row(i));
  }
  void rotate_rows(const Mat3<T>& g, std::size_t columns) {
    for (std::size_t j = 0; j < columns; ++j) {
      const Vec3<T> turned = g * Vec3<T>{row(0)[j], row(1)[j], row(2)[j]};
      row(0)[j] = turned.x, row(1)[j] = turned.y, row(2)[j] = turned.z;
    }
  }
  void transpose_motion() {
    for (std::size_t i = 0; i < ErrorIndex::landmarks; ++i) {
      for (std::size_t j = i + 1; j < ErrorIndex::landmarks; ++j) std::swap(row(i)[j], row(j)[i]);
    }
  }
  void add_noise(const StrapdownModel<T>& model, const Mat3<T>& end_WB, const T& dt) {
    using Index = ErrorIndex;
    const auto add = [&](std::size_t first, const Mat3<T>& m, const T& variance) {
      const Mat3<T> q = m * transpose(m) * variance;
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          row(first + i)[first + j] += q(static_cast<int>(i), static_cast<int>(j));
        }
      }
    };
    add(Index::attitude, model.gyroscope_BS,
        dt * (model.gyroscope_noise + dt * model.gyroscope_rounding));
    add(Index::velocity, end_WB * model.accelerometer_BS,
        dt * (model.accelerometer_noise + dt * model.accelerometer_rounding));
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t gyro = Index::gyroscope + i, accelerometer = Index::accelerometer + i;
      row(gyro)[gyro] += dt * model.gyroscope_walk;
      row(accelerometer)[accelerometer] += dt * model.accelerometer_walk;
    }
  }

  std::size_t size_, stride_;
  std::vector<T> numbers_;  // rows of `stride_` numbers, zero beyond `size_`
  std::vector<T> scratch_;
};

}  // namespace propwash
