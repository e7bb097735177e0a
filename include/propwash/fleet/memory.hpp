#pragma once
/// @file
/// Memory and views of a fleet.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace propwash {

/// Some numbers of the caller's, by reference: std::span of C++20.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  /// Any contiguous container: std::vector, std::array, an Eigen vector.
  template <class Container,
            class = decltype(static_cast<T*>(std::declval<Container&>().data()))>
  constexpr Span(Container&& container)  // implicit, as the type of an argument
      : data_(container.data()), size_(static_cast<std::size_t>(container.size())) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

/// Allocates on lines of the cache, where registers load and store without crossing them.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
  friend bool operator!=(const LineAllocator&, const LineAllocator&) { return false; }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace detail

}  // namespace propwash
