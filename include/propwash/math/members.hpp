#pragma once
/// @file
/// Structs of numbers that list their members once. Copies between layouts, constants of fleets,
/// snapshots and traces visit that list.
///
///     template <class P>
///     struct MotorLag {
///       P rate{};  ///< 1/s
///       PROPWASH_MEMBERS(rate)
///     };
///
/// The numbers of a struct are those of its members, in the order of declaration. Flags, integers
/// and enumerations are not numbers.

#include <cstddef>
#include <type_traits>
#include <utility>

#include "propwash/math/scalar.hpp"

/// Lists all members of the struct in which it stands, in the order of declaration; a list that
/// lacks one does not compile. members(x, f) calls f with all of them.
#define PROPWASH_MEMBERS(...)                                                                \
  template <class Self, class F>                                                             \
  PROPWASH_FN static constexpr decltype(auto) members(Self& propwash_self, F&& propwash_f) { \
    auto& [__VA_ARGS__] = propwash_self;                                                     \
    return propwash_f(__VA_ARGS__);                                                          \
  }

namespace propwash {

namespace detail {

template <class... Member>
struct MemberTypes {};
struct ToMemberTypes {
  template <class... Member>
  constexpr MemberTypes<std::remove_const_t<Member>...> operator()(Member&...) const {
    return {};
  }
};

template <class X, class = void>
struct HasMembers : std::false_type {};
template <class X>
struct HasMembers<X, std::void_t<decltype(&X::template members<X, ToMemberTypes>)>>
    : std::true_type {};

/// Whether a type has no numbers.
template <class X>
inline constexpr bool is_without_numbers =
    std::is_empty_v<X> || std::is_integral_v<X> || std::is_enum_v<X>;

template <class F>
struct EachNumber {
  F& f;
  template <class... Member>
  PROPWASH_FN constexpr void operator()(Member&... members) const;
};

}  // namespace detail

/// Calls f with every number of x: a number, an array, or a struct with PROPWASH_MEMBERS.
template <class X, class F>
PROPWASH_FN constexpr void for_each_number(X& x, F&& f) {
  using Plain = std::remove_const_t<X>;
  if constexpr (std::is_array_v<X>) {
    for (auto& element : x) for_each_number(element, f);
  } else if constexpr (detail::HasMembers<Plain>::value) {
    Plain::members(x, detail::EachNumber<std::remove_reference_t<F>>{f});
  } else if constexpr (!detail::is_without_numbers<Plain>) {
    f(x);
  }
}

template <class F>
template <class... Member>
PROPWASH_FN constexpr void detail::EachNumber<F>::operator()(Member&... members) const {
  (for_each_number(members, f), ...);
}

/// Calls f(a, b) with corresponding numbers of two structs of the same members.
template <class A, class B, class F>
PROPWASH_FN constexpr void for_each_pair(A& a, B& b, F&& f) {
  if constexpr (std::is_array_v<B>) {
    for (std::size_t i = 0; i < std::extent_v<B>; ++i) for_each_pair(a[i], b[i], f);
  } else if constexpr (detail::HasMembers<std::remove_const_t<B>>::value) {
    A::members(a, [&](auto&... of_a) PROPWASH_LAMBDA {
      std::remove_const_t<B>::members(
          b, [&](auto&... of_b) PROPWASH_LAMBDA { (for_each_pair(of_a, of_b, f), ...); });
    });
  } else if constexpr (!detail::is_without_numbers<std::remove_const_t<B>>) {
    f(a, b);
  }
}

/// Converts a struct of doubles to another type: `cast_numbers<DrydenFilter<float>>(filter)`.
template <class To, class From>
PROPWASH_FN To cast_numbers(const From& from) {
  To to{};
  for_each_pair(to, from, [](auto& number, double x) PROPWASH_LAMBDA {
    using Number = std::decay_t<decltype(number)>;
    number = Number(constant<Number>(x));
  });
  return to;
}

namespace detail {

template <class X>
struct NumberCount;
template <class... Member>
constexpr int count_numbers(MemberTypes<Member...>) {
  return (NumberCount<Member>::value + ... + 0);
}
template <class X>
struct NumberCount {
  static constexpr int count() {
    if constexpr (HasMembers<X>::value) {
      return count_numbers(decltype(X::members(std::declval<X&>(), ToMemberTypes{})){});
    } else {
      return is_without_numbers<X> ? 0 : 1;
    }
  }
  static constexpr int value = count();
};
template <class X, std::size_t Size>
struct NumberCount<X[Size]> {
  static constexpr int value = static_cast<int>(Size) * NumberCount<X>::value;
};

}  // namespace detail

/// The count of the numbers of X, which may not contain an array of Dynamic size.
template <class X>
inline constexpr int number_count = detail::NumberCount<X>::value;

}  // namespace propwash
