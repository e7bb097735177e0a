#pragma once
/// @file
/// A non-owning view of contiguous elements.

#include <cstddef>
#include <utility>

namespace propwash {

/// A non-owning view of contiguous elements, like std::span of C++20.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  /// Any contiguous container: std::vector, std::array, an Eigen vector.
  template <class Container,
            class = decltype(static_cast<T*>(std::declval<Container&>().data()))>
  constexpr Span(Container&& container)  // implicit, for use as a parameter type
      : data_(container.data()), size_(static_cast<std::size_t>(container.size())) {}

  /// The first number.
  constexpr T* data() const { return data_; }
  /// Number of elements.
  constexpr std::size_t size() const { return size_; }
  /// Whether there are no elements.
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace propwash
