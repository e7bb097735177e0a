#pragma once
/// @file
/// Conversion to and from Eigen types.
///
/// `map(v)` views a Vec3, Mat3 or SmallArray as an Eigen matrix without a copy; `to_eigen` and
/// `from_eigen` copy. A quaternion is scalar first here and scalar last in Eigen, so it is always
/// copied. To convert quaternions, include <Eigen/Geometry> as well; this header leaves it out to
/// save compile time.

#if !__has_include(<Eigen/Core>)
#error \
    "propwash/math/eigen.hpp needs Eigen >= 3.4: link Eigen3::Eigen, or add its folder to the include path (-isystem /usr/include/eigen3); only eigen.hpp, linearize.hpp and propwash.hpp need it"
#endif
#include <Eigen/Core>
#include <type_traits>

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

namespace detail {
template <class T>
using EigenMat3 = Eigen::Matrix<T, 3, 3, Eigen::RowMajor>;
template <class T, int N>
using EigenVector = Eigen::Matrix<T, N == Dynamic ? Eigen::Dynamic : N, 1>;
}  // namespace detail

// required by the maps below: no padding, components in order
static_assert(sizeof(Vec3<double>) == 3 * sizeof(double) &&
              std::is_standard_layout_v<Vec3<double>>);
static_assert(sizeof(Mat3<double>) == 9 * sizeof(double) &&
              std::is_standard_layout_v<Mat3<double>>);

/// A view of the vector's memory, valid for the lifetime of the vector.
template <class T>
Eigen::Map<Eigen::Matrix<T, 3, 1>> map(Vec3<T>& v) {
  return Eigen::Map<Eigen::Matrix<T, 3, 1>>(&v.x);
}
template <class T>
Eigen::Map<const Eigen::Matrix<T, 3, 1>> map(const Vec3<T>& v) {
  return Eigen::Map<const Eigen::Matrix<T, 3, 1>>(&v.x);
}
template <class T>
Eigen::Map<detail::EigenMat3<T>> map(Mat3<T>& m) {
  return Eigen::Map<detail::EigenMat3<T>>(m.elements);
}
template <class T>
Eigen::Map<const detail::EigenMat3<T>> map(const Mat3<T>& m) {
  return Eigen::Map<const detail::EigenMat3<T>>(m.elements);
}
template <class T, int N>
Eigen::Map<detail::EigenVector<T, N>> map(SmallArray<T, N>& a) {
  return Eigen::Map<detail::EigenVector<T, N>>(a.values, a.size());
}
template <class T, int N>
Eigen::Map<const detail::EigenVector<T, N>> map(const SmallArray<T, N>& a) {
  return Eigen::Map<const detail::EigenVector<T, N>>(a.values, a.size());
}

/// Copies into an Eigen type.
template <class T>
Eigen::Matrix<T, 3, 1> to_eigen(const Vec3<T>& v) {
  return map(v);
}
template <class T>
Eigen::Matrix<T, 3, 3> to_eigen(const Mat3<T>& m) {
  return map(m);
}
template <class T>
Eigen::Quaternion<T> to_eigen(const Quat<T>& q) {
  return Eigen::Quaternion<T>(q.w, q.x, q.y, q.z);
}
template <class T, int N>
detail::EigenVector<T, N> to_eigen(const SmallArray<T, N>& a) {
  return map(a);
}

/// Converts an Eigen expression of three components to Vec3, or one of 3 x 3 to Mat3.
template <class Derived>
auto from_eigen(const Eigen::MatrixBase<Derived>& m) {
  using T = typename Derived::Scalar;
  if constexpr (Derived::RowsAtCompileTime == 3 && Derived::ColsAtCompileTime == 3) {
    Mat3<T> r;
    map(r) = m;
    return r;
  } else {
    static_assert(Derived::SizeAtCompileTime == 3, "expected 3 components or a 3 x 3 matrix");
    Vec3<T> r;
    map(r) = m;
    return r;
  }
}
template <class T>
Quat<T> from_eigen(const Eigen::Quaternion<T>& q) {
  return {q.w(), q.x(), q.y(), q.z()};
}

}  // namespace propwash
