#pragma once
/// @file
/// Per-vehicle parameters of a fleet.

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "arrays.hpp"
#include "propwash/vehicle/fields.hpp"

namespace propwash::bindings {

/// Values of each vehicle, by index of a field. Copies share the numbers.
class VehicleOverrides {
 public:
  /// Writes the numbers of field k of `size` vehicles.
  void read(std::size_t k, const VehicleParameters& vehicle, std::size_t size, double* to) const {
    const auto own = numbers_.find(k);
    if (own != numbers_.end()) {
      std::copy(own->second->begin(), own->second->end(), to);
      return;
    }
    const auto field = fields(vehicle)[k];
    for (std::size_t i = 0; i < size; ++i) field.get(to + i * width_of(field));
  }

  /// Sets field k of all vehicles, or of those with the indices `some`.
  void set(std::size_t k, const Array& values, const std::vector<std::size_t>& some,
           const VehicleParameters& vehicle, std::size_t size) {
    const double* const from = values.data();
    if (some.empty()) {
      numbers_[k] = std::make_shared<const Row>(from, from + values.size());
      return;
    }
    const std::size_t width = width_of(fields(vehicle)[k]);
    auto row = std::make_shared<Row>(width * size);
    read(k, vehicle, size, row->data());
    for (std::size_t i = 0; i < some.size(); ++i) {
      std::copy_n(from + i * width, width, row->data() + some[i] * width);
    }
    numbers_[k] = std::move(row);
  }

  /// Updates the constants of a fleet: of the vehicles `some`, or of all if it is empty.
  template <class Fleet>
  void apply(Fleet& fleet, const std::vector<std::size_t>& some) const {
    with_each(fleet.vehicle(), [&](const auto& parameters_of) {
      if (some.empty()) {
        fleet.set_parameters(parameters_of);
      } else {
        fleet.set_parameters(parameters_of, {some.data(), some.size()});
      }
    });
  }
  /// Calls f with a function that returns the parameters of vehicle i, valid until the next call.
  template <class F>
  void with_each(VehicleParameters vehicle, const F& f) const {
    const auto table = fields(vehicle);
    f([&](std::size_t i) -> const VehicleParameters& {
      for (const auto& [k, row] : numbers_) table[k].set(row->data() + i * width_of(table[k]));
      return vehicle;
    });
  }

  std::vector<std::size_t> fields_set() const {
    std::vector<std::size_t> result;
    for (const auto& item : numbers_) result.push_back(item.first);
    return result;
  }
  std::size_t bytes() const {
    std::size_t count = 0;
    for (const auto& item : numbers_) count += item.second->size();
    return count * sizeof(double);
  }

 private:
  using Row = std::vector<double>;
  template <class Field>
  static std::size_t width_of(const Field& field) {
    return static_cast<std::size_t>(field.size());
  }
  std::map<std::size_t, std::shared_ptr<const Row>> numbers_;
};

}  // namespace propwash::bindings
