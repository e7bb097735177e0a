#pragma once
/// @file
/// Snapshots as bytes: a header with version, format and class, then the memory of a plain struct.

#include <pybind11/pybind11.h>

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "propwash/version.hpp"

namespace propwash::bindings {

/// Increased with every change of the order or the meaning of the numbers of a snapshot.
inline constexpr int snapshot_format = 3;

/// The first bytes of a snapshot.
inline std::string snapshot_header(const std::string& kind) {
  return "propwash " PROPWASH_VERSION " format " + std::to_string(snapshot_format) + " " + kind +
         " ";
}

/// kind: the class and whatever determines the size of its snapshots.
template <class Snapshot>
pybind11::bytes snapshot_bytes(const std::string& kind, const Snapshot& snapshot) {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  std::string data = snapshot_header(kind);
  data.append(reinterpret_cast<const char*>(&snapshot), sizeof(Snapshot));
  return pybind11::bytes(data);
}

/// Reads a snapshot without checking its numbers. Raises ValueError for other bytes.
template <class Snapshot>
Snapshot snapshot_from(const std::string& kind, const pybind11::bytes& bytes,
                       const std::string& owner) {
  const std::string header = snapshot_header(kind);
  const auto data = static_cast<std::string_view>(bytes);
  if (data.size() != header.size() + sizeof(Snapshot) || data.substr(0, header.size()) != header) {
    throw pybind11::value_error(
        "snapshot: expected the bytes that snapshot() of " + owner +
        " returned in this version of propwash (" PROPWASH_VERSION ", format " +
        std::to_string(snapshot_format) + "), got " + std::to_string(data.size()) + " other bytes");
  }
  Snapshot snapshot;
  std::memcpy(static_cast<void*>(&snapshot), data.data() + header.size(), sizeof(Snapshot));
  return snapshot;
}

}  // namespace propwash::bindings
