#pragma once
/// @file
/// Vectors, quaternions and arrays of traced numbers, from and to lists of nodes.

#include <vector>

#include "propwash/math/quat.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/traced.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::detail {

/// Reads numbers one after the other.
class TraceReader {
 public:
  explicit TraceReader(const std::vector<int>& nodes) : nodes_(nodes) {}
  Traced number() { return Traced::of(nodes_[next_++]); }
  Vec3<Traced> vector() {
    const Traced x = number(), y = number(), z = number();
    return {x, y, z};
  }
  Quat<Traced> quaternion() {
    const Traced w = number();
    const Vec3<Traced> v = vector();
    return {w, v.x, v.y, v.z};
  }
  template <int N>
  SmallArray<Traced, N> rotors(int count) {
    SmallArray<Traced, N> all;
    all.resize(count);
    read(all);
    return all;
  }
  /// Reads all numbers of a struct.
  template <class X>
  void read(X& x) {
    for_each_number(x, [this](Traced& to) { to = number(); });
  }

 private:
  const std::vector<int>& nodes_;
  std::size_t next_ = 0;
};

/// Collects nodes.
struct TraceWriter {
  std::vector<int>& nodes;
  /// Adds all numbers of a struct.
  template <class X>
  void add(const X& x) {
    for_each_number(x, [this](const Traced& number) { nodes.push_back(number.node); });
  }
};

}  // namespace propwash::detail
