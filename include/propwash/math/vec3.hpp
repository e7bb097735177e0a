#pragma once
/// @file
/// Three-component vectors and their algebra.

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// A vector of three components.
template <class T>
struct Vec3 {
  using Scalar = T;  ///< type of a component
  T x{}, y{}, z{};   ///< the components

  Vec3() = default;
  // not an aggregate, in which {1, 2} would be accepted with z = 0
  PROPWASH_FN constexpr Vec3(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}

  PROPWASH_FN T& operator[](int i) { return i == 0 ? x : (i == 1 ? y : z); }
  PROPWASH_FN const T& operator[](int i) const { return i == 0 ? x : (i == 1 ? y : z); }

  template <class U>
  PROPWASH_FN Vec3& operator+=(const U& b) {
    return *this = *this + b;
  }
  template <class U>
  PROPWASH_FN Vec3& operator-=(const U& b) {
    return *this = *this - b;
  }
  template <class U>
  PROPWASH_FN Vec3& operator*=(const U& s) {
    return *this = *this * s;
  }
  PROPWASH_MEMBERS(x, y, z)
};
template <class T>
Vec3(T, T, T) -> Vec3<T>;

/// A vector from its components.
template <class T>
PROPWASH_FN Vec3<T> make_vec3(const T& x, const T& y, const T& z) {
  return Vec3<T>{x, y, z};
}

/// The vector (z[first], z[first + 1], z[first + 2]).
template <class T, class Numbers>
PROPWASH_FN Vec3<T> triple(const Numbers& z, int first) {
  return {T(z[first]), T(z[first + 1]), T(z[first + 2])};
}

template <class A, class B>
PROPWASH_FN auto operator+(const Vec3<A>& a, const Vec3<B>& b) {
  return make_vec3(a.x + b.x, a.y + b.y, a.z + b.z);
}
template <class A, class B>
PROPWASH_FN auto operator-(const Vec3<A>& a, const Vec3<B>& b) {
  return make_vec3(a.x - b.x, a.y - b.y, a.z - b.z);
}
template <class T>
PROPWASH_FN Vec3<T> operator-(const Vec3<T>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class T, class S>
PROPWASH_FN auto operator*(const Vec3<T>& a, const S& s) {
  return make_vec3(a.x * s, a.y * s, a.z * s);
}

/// The scalar product.
template <class A, class B>
PROPWASH_FN auto dot(const Vec3<A>& a, const Vec3<B>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
/// The vector product a x b.
template <class A, class B>
PROPWASH_FN auto cross(const Vec3<A>& a, const Vec3<B>& b) {
  return make_vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
/// The component-wise product.
template <class A, class B>
PROPWASH_FN auto cwise_product(const Vec3<A>& a, const Vec3<B>& b) {
  return make_vec3(a.x * b.x, a.y * b.y, a.z * b.z);
}
template <class T>
PROPWASH_FN T squared_norm(const Vec3<T>& a) {
  return dot(a, a);
}
/// The Euclidean norm.
template <class T>
PROPWASH_FN T norm(const Vec3<T>& a) {
  return sqrt(squared_norm(a));
}

/// Applies f to each component.
template <class T, class F>
PROPWASH_FN auto map(const Vec3<T>& a, F&& f) {
  return make_vec3(f(a.x), f(a.y), f(a.z));
}

/// Converts to another scalar type: `cast<float>(v)`.
template <class U, class T>
PROPWASH_FN Vec3<U> cast(const Vec3<T>& a) {
  return {U(a.x), U(a.y), U(a.z)};
}

}  // namespace propwash
