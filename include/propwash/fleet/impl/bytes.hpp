#pragma once
/// @file
/// Snapshots of fleets as bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace propwash::detail {

/// More than any program can step, and small enough that step counters cannot overflow.
inline constexpr std::uint64_t max_snapshot_steps = std::uint64_t{1} << 62;

/// Writes or reads plain values one after the other.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& to) : to_(to) {}
  template <class Value>
  void operator()(const Value& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    to_.insert(to_.end(), bytes, bytes + sizeof value);
  }

 private:
  std::vector<std::byte>& to_;
};
class ByteReader {
 public:
  explicit ByteReader(const std::byte* from) : from_(from) {}
  template <class Value>
  void operator()(Value& value) {
    std::memcpy(&value, from_, sizeof value);
    from_ += sizeof value;
  }

 private:
  const std::byte* from_;
};

}  // namespace propwash::detail
