#pragma once
/// @file
/// A hash of numbers.

#include <cstdint>
#include <cstring>

namespace propwash::detail {

/// FNV-1a hash (public domain) of numbers.
class Fingerprint {
 public:
  template <class Number>
  void add(Number number) {
    number += Number(0);  // maps -0.0 to 0.0
    unsigned char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    for (const unsigned char byte : bytes) value_ = (value_ ^ byte) * 1099511628211u;
  }
  template <class Parameters>
  void add_fields(const Parameters& parameters) {
    for (const auto& field : fields(parameters)) {
      for (int i = 0; i < field.size(); ++i) add(field[i]);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

}  // namespace propwash::detail
