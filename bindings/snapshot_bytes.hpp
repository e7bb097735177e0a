#pragma once
/// @file
/// Snapshots as bytes: a text that says whose they are, then the memory of a plain struct.

#include <pybind11/pybind11.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "propwash/version.hpp"

namespace propwash::bindings {

/// What the bytes of a snapshot start with; `kind` names the class and what its size depends on.
inline std::string snapshot_header(const std::string& kind) {
  return "propwash " PROPWASH_VERSION " " + kind + " ";
}

template <class Snapshot>
pybind11::bytes snapshot_bytes(const std::string& header, const Snapshot& snapshot) {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  std::string data = header;
  data.append(reinterpret_cast<const char*>(&snapshot), sizeof(Snapshot));
  return pybind11::bytes(data);
}

/// The snapshot in the bytes, or nothing for other bytes. Its numbers are not checked.
template <class Snapshot>
std::optional<Snapshot> snapshot_from(const std::string& header, const pybind11::bytes& bytes) {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  const auto data = static_cast<std::string_view>(bytes);
  if (data.size() != header.size() + sizeof(Snapshot) || data.substr(0, header.size()) != header) {
    return std::nullopt;
  }
  Snapshot snapshot;
  std::memcpy(static_cast<void*>(&snapshot), data.data() + header.size(), sizeof(Snapshot));
  return snapshot;
}

}  // namespace propwash::bindings
