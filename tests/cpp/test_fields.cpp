// The table of a vehicle's numbers: complete, with the names of members, and each entry a view of
// one member.
#include <cstdint>
#include <propwash/vehicle/fields.hpp>
#include <propwash/vehicle/outer_loop_fields.hpp>
#include <propwash/vehicle/sensor_fields.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

namespace test_fields {

namespace pw = propwash;

namespace {

std::vector<pw::VehicleParameters> some_vehicles() {
  auto none = pw::vehicles::flightgoggles();
  none.rotors.clear();
  auto twelve = none;
  twelve.rotors.resize(12);
  return {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter(), twelve, none};
}

/// The numbers of a vehicle or car, in the order of the table.
template <class Vehicle>
std::vector<double> numbers(const Vehicle& vehicle) {
  std::vector<double> all;
  for (const auto& field : pw::fields(vehicle)) {
    std::vector<double> some(static_cast<std::size_t>(field.size()));
    field.get(some.data());
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Changes every number.
template <class Vehicle>
void number_through(Vehicle& vehicle, double first) {
  for (const auto& field : pw::fields(vehicle)) {
    for (int row = 0; row < field.rows; ++row) {
      for (int column = 0; column < field.columns; ++column) field(row, column) = first++;
    }
  }
}

/// Places in memory in units of a double.
class Places {
 public:
  /// Adds a double's place; a place that was added before is recorded as a duplicate.
  void add(const double* number) {
    if (!places_.insert(address(number)).second) ++met_twice_;
  }
  int met_twice() const { return met_twice_; }

  /// Counts the places of an object that were not added, except those that overlap `exempt`.
  template <class Object>
  int missing_from(const Object& object, const Places& exempt) const {
    int missing = 0;
    const auto begin = address(&object);
    for (auto at = begin; at < begin + sizeof(Object); at += sizeof(double)) {
      if (places_.count(at) == 0 && exempt.places_.count(at) == 0) ++missing;
    }
    return missing;
  }
  /// Adds every place of `whole` that overlaps the member.
  template <class Object, class Member>
  void add_member(const Object& whole, const Member& member) {
    const auto begin = address(&whole);
    for (std::size_t byte = 0; byte < sizeof(Member); ++byte) {
      const auto offset = address(&member) + byte - begin;
      places_.insert(begin + offset / sizeof(double) * sizeof(double));
    }
  }

 private:
  static std::uintptr_t address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }
  std::set<std::uintptr_t> places_;
  int met_twice_ = 0;
};

template <class Vehicle>
Places places_of_fields(const Vehicle& vehicle) {
  Places places;
  for (const auto& field : pw::fields(vehicle)) {
    for (int row = 0; row < field.rows; ++row) {
      for (int column = 0; column < field.columns; ++column) places.add(&field(row, column));
    }
  }
  return places;
}

}  // namespace

TEST_CASE("every number of a vehicle is in the table, once", "[fields]") {
  for (const auto& vehicle : some_vehicles()) {
    CAPTURE(vehicle.rotors.size());
    const Places found = places_of_fields(vehicle);
    CHECK(found.met_twice() == 0);
    // the table covers all memory of a vehicle except these
    Places exempt;
    exempt.add_member(vehicle, vehicle.name);
    exempt.add_member(vehicle, vehicle.rotors);
    const auto& motor = vehicle.motor;
    for (const auto* numbers :
         {&motor.time_constant_up, &motor.time_constant_down, &motor.speed_min, &motor.speed_max}) {
      exempt.add_member(vehicle, numbers->count);
      for (int i = 1; i < pw::max_size; ++i) exempt.add_member(vehicle, numbers->values[i]);
    }
    exempt.add_member(vehicle, vehicle.rate_controller.discretisation);
    exempt.add_member(vehicle, vehicle.rate_controller.gyroscopic_term);
    CHECK(found.missing_from(vehicle, exempt) == 0);
    for (const auto& rotor : vehicle.rotors) CHECK(found.missing_from(rotor, {}) == 0);
  }
}

TEST_CASE("every number of a car is in the table, once", "[fields]") {
  const auto car = pw::vehicles::car();
  const Places found = places_of_fields(car);
  CHECK(found.met_twice() == 0);
  Places exempt;
  exempt.add_member(car, car.name);
  CHECK(found.missing_from(car, exempt) == 0);
}

TEST_CASE("a field is found under the name of its member", "[fields]") {
  auto v = pw::vehicles::hexacopter();
  std::size_t known = 0;
  const auto require_member = [&](const char* name, const double* number, std::size_t bytes) {
    INFO(name);
    ++known;
    const auto field = pw::find_field(v, name);
    REQUIRE(field);
    CHECK(field->first == number);
    CHECK(field->rows == 1);
    CHECK(std::size_t(field->columns) * sizeof(double) == bytes);
  };
  const auto require_rotors_member = [&](const char* name, auto&& member) {
    INFO(name);
    ++known;
    const auto field = pw::find_field(v, std::string("rotors.") + name);
    REQUIRE(field);
    REQUIRE(std::size_t(field->rows) == v.rotors.size());
    for (int i = 0; i < field->rows; ++i) {
      auto& its = member(v.rotors[std::size_t(i)]);
      CHECK(static_cast<void*>(&(*field)(i, 0)) == static_cast<void*>(&its));
      CHECK(std::size_t(field->columns) * sizeof(double) == sizeof(its));
    }
  };
#define MEMBER(name) require_member(#name, reinterpret_cast<const double*>(&v.name), sizeof(v.name))
#define MOTOR_MEMBER(name) require_member("motor." #name, &v.motor.name.values[0], sizeof(double))
#define ROTORS_MEMBER(name) \
  require_rotors_member(#name, [](auto& rotor) -> auto& { return rotor.name; })
  MEMBER(body.mass);
  MEMBER(body.inertia);
  MEMBER(body.gravity);
  ROTORS_MEMBER(position);
  ROTORS_MEMBER(axis);
  ROTORS_MEMBER(spin);
  ROTORS_MEMBER(thrust_coefficient);
  ROTORS_MEMBER(torque_coefficient);
  ROTORS_MEMBER(inertia);
  MOTOR_MEMBER(time_constant_up);
  MOTOR_MEMBER(time_constant_down);
  MOTOR_MEMBER(speed_min);
  MOTOR_MEMBER(speed_max);
  MEMBER(motor.speed_offset);
  MEMBER(motor.command_delay);
  MEMBER(drag.translational);
  MEMBER(drag.rotational);
  MEMBER(rotor_drag.linear);
  MEMBER(rotor_drag.blow_back);
  MEMBER(inflow.axial);
  MEMBER(inflow.translational);
  MEMBER(inflow.radius);
  MEMBER(inflow.drag);
  MEMBER(inflow.axial_drag);
  MEMBER(inflow.flapping);
  MEMBER(ground_effect.radius);
  MEMBER(ground_effect.coefficient);
  MEMBER(ground_effect.height);
  MEMBER(contact.frequency);
  MEMBER(contact.damping);
  MEMBER(contact.friction);
  MEMBER(contact.leg);
  MEMBER(contact.height);
  MEMBER(residual.velocity);
  MEMBER(residual.velocity_centre);
  MEMBER(residual.rates);
  MEMBER(residual.thrust);
  MEMBER(residual.thrust_centre);
  MEMBER(residual.torque);
  MEMBER(residual.force_x);
  MEMBER(residual.force_y);
  MEMBER(residual.force_z);
  MEMBER(residual.torque_x);
  MEMBER(residual.torque_y);
  MEMBER(residual.torque_z);
  MEMBER(battery.nominal_voltage);
  MEMBER(battery.cells);
  MEMBER(battery.capacity);
  MEMBER(battery.full_voltage);
  MEMBER(battery.resistance);
  MEMBER(battery.polarisation_resistance);
  MEMBER(battery.polarisation_time);
  MEMBER(battery.efficiency);
  MEMBER(battery.load);
  MEMBER(process_noise.force);
  MEMBER(process_noise.torque);
  MEMBER(imu.accelerometer_noise_density);
  MEMBER(imu.gyroscope_noise_density);
  MEMBER(imu.accelerometer_bias_walk);
  MEMBER(imu.gyroscope_bias_walk);
  MEMBER(imu.accelerometer_bias_initial);
  MEMBER(imu.gyroscope_bias_initial);
  MEMBER(imu.position);
  MEMBER(imu.attitude);
  MEMBER(imu.accelerometer_scale);
  MEMBER(imu.gyroscope_scale);
  MEMBER(imu.accelerometer_resolution);
  MEMBER(imu.gyroscope_resolution);
  MEMBER(imu.accelerometer_range);
  MEMBER(imu.gyroscope_range);
  MEMBER(imu.rate);
  MEMBER(rate_controller.proportional);
  MEMBER(rate_controller.integral);
  MEMBER(rate_controller.derivative);
  MEMBER(rate_controller.integral_bound);
  MEMBER(rate_controller.filter.stiffness);
  MEMBER(rate_controller.filter.damping);
#undef ROTORS_MEMBER
#undef MOTOR_MEMBER
#undef MEMBER
  CHECK(known == pw::fields(v).size());

  v.motor.speed_max = {2000.0, 2010.0, 2020.0, 2030.0, 2040.0, 2050.0};
  const auto each = pw::find_field(v, "motor.speed_max");
  REQUIRE(each);
  REQUIRE(each->shape.rank == 1);
  CHECK(each->shape.extents[0] == 6);
  CHECK((*each)(0, 5) == 2050.0);
}

TEST_CASE("a car's fields have the names of its members, and its noises are one pair", "[fields]") {
  auto car = pw::vehicles::car();
  CHECK(pw::find_field(car, "speed_min")->first == &car.speed_min);
  CHECK(pw::find_field(car, "speed_max")->first == &car.speed_max);
  CHECK(pw::find_field(car, "yaw_rate_limit")->first == &car.yaw_rate_limit);
  const auto noise = pw::find_field(car, "process_noise");
  REQUIRE(noise);
  CHECK(&(*noise)(0, 0) == &car.process_noise_forward);
  CHECK(&(*noise)(0, 1) == &car.process_noise_left);
}

TEST_CASE("names are unique and matched exactly", "[fields]") {
  auto vehicle = pw::vehicles::flightgoggles();
  std::set<std::string_view> names;
  for (const auto& field : pw::fields(vehicle)) {
    INFO(field.name);
    CHECK(names.insert(field.name).second);
    CHECK(field.name.data()[field.name.size()] == '\0');
    const auto found = pw::find_field(vehicle, field.name);
    REQUIRE(found);
    CHECK(found->first == field.first);
    CHECK_FALSE(pw::find_field(vehicle, std::string(field.name) + "s"));
    CHECK_FALSE(pw::find_field(vehicle, field.name.substr(0, field.name.size() - 1)));
    CHECK_FALSE(pw::find_field(vehicle, field.name.substr(1)));
  }
  CHECK_FALSE(pw::find_field(vehicle, ""));
}

TEST_CASE("writing a number through its view changes that number and nothing else", "[fields]") {
  auto vehicle = pw::vehicles::hexacopter();
  number_through(vehicle, 1.0);
  const auto before = numbers(vehicle);
  const auto switches = vehicle.rate_controller;
  std::size_t place = 0;
  for (const auto& field : pw::fields(vehicle)) {
    INFO(field.name);
    for (int row = 0; row < field.rows; ++row) {
      for (int column = 0; column < field.columns; ++column, ++place) {
        field(row, column) = -1.0;
        auto expected = before;
        expected[place] = -1.0;
        CHECK(numbers(vehicle) == expected);
        field(row, column) = before[place];
      }
    }
  }
  CHECK(place == before.size());
  CHECK(vehicle.name == pw::vehicles::hexacopter().name);
  CHECK(vehicle.rate_controller.discretisation == switches.discretisation);
  CHECK(vehicle.rate_controller.gyroscopic_term == switches.gyroscopic_term);
}

TEST_CASE("the numbers of a field are in the order of its components", "[fields]") {
  auto v = pw::vehicles::flightgoggles();
  number_through(v, 100.0);
  const pw::VehicleParameters& read = v;
  const auto matrix = *pw::find_field(read, "body.inertia");
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) CHECK(matrix(0, 3 * i + j) == v.body.inertia(i, j));
    CHECK((*pw::find_field(read, "body.gravity"))(0, i) == v.body.gravity[i]);
    for (int r = 0; r < 4; ++r) {
      CHECK((*pw::find_field(read, "rotors.axis"))(r, i) == v.rotors[std::size_t(r)].axis[i]);
    }
  }
  double q[4];
  pw::find_field(read, "imu.attitude")->get(q);
  const auto& attitude = v.imu.attitude;
  CHECK((q[0] == attitude.w && q[1] == attitude.x && q[2] == attitude.y && q[3] == attitude.z));
}

TEST_CASE("a vehicle is rebuilt from the numbers of its fields", "[fields]") {
  for (auto original : some_vehicles()) {
    CAPTURE(original.rotors.size());
    number_through(original, 7.0);
    pw::VehicleParameters copy;
    copy.rotors.resize(original.rotors.size());
    const auto to = pw::fields(copy);
    const auto from = pw::fields(static_cast<const pw::VehicleParameters&>(original));
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::vector<double> some(static_cast<std::size_t>(from[i].size()));
      from[i].get(some.data());
      to[i].set(some.data());
    }
    CHECK(numbers(copy) == numbers(original));
  }
}

TEST_CASE("shapes are those of the members, with the rotors in front", "[fields]") {
  const auto shape = [](const pw::VehicleParameters& vehicle, const char* name) {
    const auto s = pw::find_field(vehicle, name)->shape;
    return std::vector<int>(s.begin(), s.end());
  };
  using Shape = std::vector<int>;
  for (const auto& vehicle : some_vehicles()) {
    const int rotors = static_cast<int>(vehicle.rotors.size());
    CHECK(shape(vehicle, "body.mass") == Shape{});
    CHECK(shape(vehicle, "body.gravity") == Shape{3});
    CHECK(shape(vehicle, "imu.attitude") == Shape{4});
    CHECK(shape(vehicle, "body.inertia") == Shape{3, 3});
    CHECK(shape(vehicle, "drag.rotational") == Shape{3, 3});
    CHECK(shape(vehicle, "rotors.spin") == Shape{rotors});
    CHECK(shape(vehicle, "rotors.position") == Shape{rotors, 3});
    for (const auto& field : pw::fields(vehicle)) {
      INFO(field.name);
      CHECK(field.shape.size() == field.size());
      const bool each_rotors = field.name.substr(0, 7) == "rotors.";
      CHECK(field.rows == (each_rotors ? rotors : 1));
      CHECK((field.first == nullptr) == (field.size() == 0));
    }
  }
  const auto car = pw::vehicles::car();
  const auto noise = pw::find_field(car, "process_noise")->shape;
  CHECK(Shape(noise.begin(), noise.end()) == Shape{2});
}

TEST_CASE("an IMU and the outer loops have separate tables", "[fields]") {
  auto v = pw::vehicles::flightgoggles();
  const auto imu = pw::fields(v.imu);
  for (const auto& field : imu) {
    INFO(field.name);
    const auto whole = pw::find_field(v, field.name);
    REQUIRE(whole);
    CHECK(whole->first == field.first);
    CHECK(whole->unit == std::string_view(field.unit));
  }
  CHECK(imu.size() == 15);
  auto other = v.imu;
  CHECK(pw::fingerprint(other) == pw::fingerprint(v.imu));
  other.rate = 200.0;
  CHECK(pw::fingerprint(other) != pw::fingerprint(v.imu));

  pw::OuterLoopParameters loops;
  // the table covers all memory of the gains except these
  Places exempt;
  exempt.add_member(loops, loops.interval);
  exempt.add_member(loops, loops.prioritised);
  const Places found = places_of_fields(loops);
  CHECK(found.met_twice() == 0);
  CHECK(found.missing_from(loops, exempt) == 0);
}

TEST_CASE("fields that determine the work of a step are marked structural", "[fields]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  std::set<std::string_view> structural;
  for (const auto& field : pw::fields(vehicle)) {
    if (field.structural) structural.insert(field.name);
  }
  CHECK(structural == std::set<std::string_view>{"motor.command_delay", "battery.nominal_voltage",
                                                 "battery.cells", "imu.rate", "inflow.radius"});
}

TEST_CASE("the fields of a sensor are views of its parameters", "[fields]") {
  auto gnss = pw::typical_gnss();
  const double bias[] = {1.0, 2.0};
  pw::find_field(gnss, "bias")->set(bias);
  CHECK(gnss.bias_horizontal.deviation == 1.0);
  CHECK(gnss.bias_vertical.deviation == 2.0);
  CHECK(pw::find_field(gnss, "position_noise")->shape.size() == 2);
  const auto barometer = pw::ms5611_barometer();
  CHECK((*pw::find_field(barometer, "drift_time"))[0] == barometer.drift.time);
  const auto magnetometer = pw::hmc5883l_magnetometer();
  CHECK((*pw::find_field(magnetometer, "field"))[2] == pw::cambridge_field.z);
  const pw::RangeFinderParameters<double> finder;
  CHECK((*pw::find_field(finder, "variance"))[0] == finder.variance);
}

}  // namespace test_fields
