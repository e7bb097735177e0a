#pragma once
/// @file
/// Dual numbers: a value and its derivatives with respect to N variables, with the scalar hooks
/// (scalar.hpp). A function of dual numbers returns its value and, by the chain rule, its exact
/// derivatives (forward mode; Griewank and Walther, "Evaluating Derivatives", 2008, ch. 3).
///
/// Conventions where a function is not differentiable:
///
///     abs, min, max, select   derivative of the selected branch; abs at 0: +1
///     sqrt at 0               0, so that |v| v has derivative 0 at rest
///     round                   0

#include <cstddef>
#include <type_traits>

#include "propwash/math/scalar.hpp"
#include "propwash/math/small_array.hpp"

namespace propwash {

/// T is float, double, a Pack of them, or a Dual (for second derivatives).
template <class T, int N>
struct Dual {
  static_assert(N > 0, "expected at least one variable");
  static constexpr int variables = N;  ///< number of partial derivatives
  using Plain = value_type_t<T>;       ///< the plain floating-point type

  T value;                     ///< the number itself
  T partials[std::size_t{N}];  ///< its derivative with respect to each variable

  Dual() = default;
  // element by element: GCC copies an array of packs through memory
  PROPWASH_FN Dual(const Dual& b) : value(b.value) {
    each([&](int i) PROPWASH_LAMBDA { partials[i] = b.partials[i]; });
  }
  PROPWASH_FN Dual& operator=(const Dual& b) {
    value = b.value;
    each([&](int i) PROPWASH_LAMBDA { partials[i] = b.partials[i]; });
    return *this;
  }
  /// A constant.
  PROPWASH_FN explicit Dual(const T& x) : value(x), partials{} {}
  template <class C, class = std::enable_if_t<std::is_same_v<C, Plain> && !std::is_same_v<C, T>>>
  PROPWASH_FN explicit Dual(const C& x) : value(T(x)), partials{} {}
  /// Variable `index` with value x: its derivative with respect to itself is 1.
  PROPWASH_FN static Dual variable(const T& x, int index) {
    Dual d(x);
    d.partials[index] = T(constant<T>(1));
    return d;
  }

  PROPWASH_FN Dual operator-() const {
    return with(-value, [&](int i) PROPWASH_LAMBDA { return -partials[i]; });
  }
  PROPWASH_FN friend Dual operator+(const Dual& a, const Dual& b) {
    return with(a.value + b.value, [&](int i) PROPWASH_LAMBDA { return a.partials[i] + b.partials[i]; });
  }
  PROPWASH_FN friend Dual operator-(const Dual& a, const Dual& b) {
    return with(a.value - b.value, [&](int i) PROPWASH_LAMBDA { return a.partials[i] - b.partials[i]; });
  }
  PROPWASH_FN friend Dual operator*(const Dual& a, const Dual& b) {
    return with(a.value * b.value,
                [&](int i) PROPWASH_LAMBDA { return a.partials[i] * b.value + a.value * b.partials[i]; });
  }
  PROPWASH_FN friend Dual operator/(const Dual& a, const Dual& b) {
    const T quotient = a.value / b.value;
    const T inverse = constant<T>(1) / b.value;
    return with(quotient, [&](int i) PROPWASH_LAMBDA {
      return (a.partials[i] - quotient * b.partials[i]) * inverse;
    });
  }

  /// Enables an operation with a constant, of type T or of its plain type.
  template <class C>
  using IfConstant = std::enable_if_t<std::is_same_v<C, T> || std::is_same_v<C, Plain>>;

  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator+(const Dual& a, const C& b) {
    return with(a.value + b, [&](int i) PROPWASH_LAMBDA { return a.partials[i]; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator+(const C& a, const Dual& b) {
    return with(a + b.value, [&](int i) PROPWASH_LAMBDA { return b.partials[i]; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator-(const Dual& a, const C& b) {
    return with(a.value - b, [&](int i) PROPWASH_LAMBDA { return a.partials[i]; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator-(const C& a, const Dual& b) {
    return with(a - b.value, [&](int i) PROPWASH_LAMBDA { return -b.partials[i]; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator*(const Dual& a, const C& b) {
    return with(a.value * b, [&](int i) PROPWASH_LAMBDA { return a.partials[i] * b; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator*(const C& a, const Dual& b) {
    return with(a * b.value, [&](int i) PROPWASH_LAMBDA { return a * b.partials[i]; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator/(const Dual& a, const C& b) {
    return with(a.value / b, [&](int i) PROPWASH_LAMBDA { return a.partials[i] / b; });
  }
  template <class C, class = IfConstant<C>>
  PROPWASH_FN friend Dual operator/(const C& a, const Dual& b) {
    const T quotient = a / b.value;
    const T slope = -quotient / b.value;
    return with(quotient, [&](int i) PROPWASH_LAMBDA { return b.partials[i] * slope; });
  }

  PROPWASH_FN friend auto operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  PROPWASH_FN friend auto operator>(const Dual& a, const Dual& b) { return a.value > b.value; }

  /// The dual number of `value` and partials f(0), …, f(N - 1).
  template <class F>
  PROPWASH_FN static Dual with(const T& value, F&& f) {
    Dual d;
    d.value = value;
    each([&](int i) PROPWASH_LAMBDA { d.partials[i] = f(i); });
    return d;
  }

 private:
  static constexpr int max_unrolled = 8;

  template <class F>
  PROPWASH_FN static void each(F&& f) {
    if constexpr (!std::is_floating_point_v<T> && N <= max_unrolled) {
      for_each_index<N>(N, f);
    } else {
      for (int i = 0; i < N; ++i) f(i);
    }
  }
};

template <class T, int N>
struct ScalarTraits<Dual<T, N>> {
  using value_type = value_type_t<T>;
};

/// if_true where the mask holds, else if_false.
template <class Mask, class T, int N>
PROPWASH_FN Dual<T, N> select(const Mask& mask, const Dual<T, N>& if_true,
                              const Dual<T, N>& if_false) {
  return Dual<T, N>::with(select(mask, if_true.value, if_false.value), [&](int i) PROPWASH_LAMBDA {
    return select(mask, if_true.partials[i], if_false.partials[i]);
  });
}

namespace detail {
/// The chain rule: f(a) for a function with derivative `slope` at a.
template <class T, int N>
PROPWASH_FN Dual<T, N> chained(const Dual<T, N>& a, const T& value, const T& slope) {
  return Dual<T, N>::with(value, [&](int i) PROPWASH_LAMBDA { return a.partials[i] * slope; });
}
/// `value` with the partials that the mask selects.
template <class Mask, class T, int N>
PROPWASH_FN Dual<T, N> chosen(const T& value, const Mask& mask, const Dual<T, N>& if_true,
                              const Dual<T, N>& if_false) {
  return Dual<T, N>::with(value, [&](int i) PROPWASH_LAMBDA {
    return select(mask, if_true.partials[i], if_false.partials[i]);
  });
}
}  // namespace detail

/// Square root.
template <class T, int N>
PROPWASH_FN Dual<T, N> sqrt(const Dual<T, N>& a) {
  const T root = sqrt(a.value);
  const T zero(constant<T>(0));
  return detail::chained(a, root, select(root > zero, constant<T>(0.5) / root, zero));
}
/// Absolute value.
template <class T, int N>
PROPWASH_FN Dual<T, N> abs(const Dual<T, N>& a) {
  return detail::chosen(abs(a.value), a.value < T(constant<T>(0)), -a, a);
}
/// The smaller number.
template <class T, int N>
PROPWASH_FN Dual<T, N> min(const Dual<T, N>& a, const Dual<T, N>& b) {
  return detail::chosen(min(a.value, b.value), b.value < a.value, b, a);
}
/// The larger number.
template <class T, int N>
PROPWASH_FN Dual<T, N> max(const Dual<T, N>& a, const Dual<T, N>& b) {
  return detail::chosen(max(a.value, b.value), a.value < b.value, b, a);
}
/// a b + c.
template <class T, int N>
PROPWASH_FN Dual<T, N> fma(const Dual<T, N>& a, const Dual<T, N>& b, const Dual<T, N>& c) {
  return Dual<T, N>::with(fma(a.value, b.value, c.value), [&](int i) PROPWASH_LAMBDA {
    return a.partials[i] * b.value + (a.value * b.partials[i] + c.partials[i]);
  });
}
/// Sine of an angle [rad].
template <class T, int N>
PROPWASH_FN Dual<T, N> sin(const Dual<T, N>& a) {
  return detail::chained(a, sin(a.value), cos(a.value));
}
/// Cosine of an angle [rad].
template <class T, int N>
PROPWASH_FN Dual<T, N> cos(const Dual<T, N>& a) {
  return detail::chained(a, cos(a.value), T(-sin(a.value)));
}
/// e to the power of a.
template <class T, int N>
PROPWASH_FN Dual<T, N> exp(const Dual<T, N>& a) {
  const T value = exp(a.value);
  return detail::chained(a, value, value);
}
/// Natural logarithm.
template <class T, int N>
PROPWASH_FN Dual<T, N> log(const Dual<T, N>& a) {
  return detail::chained(a, log(a.value), T(constant<T>(1) / a.value));
}
template <class T, int N>
PROPWASH_FN Dual<T, N> round(const Dual<T, N>& a) {
  return Dual<T, N>(round(a.value));
}

}  // namespace propwash
