// The standard atmosphere against its differential equation and its tables, and the barometer's
// errors. The power law by roots and series against the C library.
#include <cmath>
#include <propwash/model/barometer.hpp>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_barometer {

namespace pw = propwash;
using counting::Counted;
using lanes::Pair;
using Isa = pw::StandardAtmosphere;

TEST_CASE("the pressure is the power law of ISO 2533", "[barometer]") {
  for (double h = -2000.0; h <= 11000.0; h += 50.0) {
    const double x = 1.0 - Isa::lapse_rate * h / Isa::temperature;
    CHECK(pw::isa_pressure_ratio(h) == Approx(std::pow(x, Isa::exponent)).epsilon(3e-15));
  }
  // the standard's table: 5000 m and 11000 m, in Pa to five digits
  CHECK(101325.0 * pw::isa_pressure_ratio(5000.0) == Approx(54020.0).epsilon(1e-5));
  CHECK(101325.0 * pw::isa_pressure_ratio(11000.0) == Approx(22632.0).epsilon(1e-5));
}

TEST_CASE("the pressure gradient is the weight of the air", "[barometer]") {
  // dp/dh = -rho g with rho = p / (R T), by central differences: of second order in the step
  for (const double h : {-1000.0, 0.0, 1500.0, 9000.0}) {
    const double step = 10.0;
    const double slope =
        (pw::isa_pressure_ratio(h + step) - pw::isa_pressure_ratio(h - step)) / (2.0 * step);
    const double temperature = Isa::temperature - Isa::lapse_rate * h;
    const double weight =
        pw::isa_pressure_ratio(h) * Isa::gravity / (Isa::gas_constant * temperature);
    CHECK(-slope == Approx(weight).epsilon(1e-6));
  }
}

TEST_CASE("height from pressure and back, in both types", "[barometer]") {
  for (double h = -1990.0; h < 11000.0; h += 33.0) {
    CHECK(pw::isa_altitude(pw::isa_pressure_ratio(h)) == Approx(h).margin(1e-9));
    const float single = pw::isa_altitude(pw::isa_pressure_ratio(static_cast<float>(h)));
    // a pressure ratio in float is known to 2^-24, some 8 km times that, and a few roundings more
    CHECK(std::abs(static_cast<double>(single) - h) < 0.05);
  }
}

TEST_CASE("outside the troposphere the height is limited", "[barometer]") {
  CHECK(pw::isa_pressure_ratio(2e4) == pw::isa_pressure_ratio(Isa::highest));
  CHECK(pw::isa_pressure_ratio(-1e5) == pw::isa_pressure_ratio(Isa::lowest));
  CHECK(std::isnan(pw::isa_pressure_ratio(std::nan(""))));
}

TEST_CASE("a barometer reads the pressure at its position", "[barometer]") {
  Dice dice(601);
  pw::BarometerParameters<double> barometer;
  barometer.position = dice.vec3(0.3);
  barometer.altitude = 200.0;
  barometer.sea_level_pressure = 99000.0;
  for (int n = 0; n < 20; ++n) {
    const auto position_W = dice.vec3(100.0);
    const auto q_WB = dice.unit_quat();
    const double drift = dice.uniform(-90.0, 90.0), noise = dice.uniform(-3.0, 3.0);
    const auto reading = pw::barometer_reading(barometer, position_W, q_WB, drift, noise);
    const double height = position_W.z + rotate(q_WB, barometer.position).z + 200.0;
    const double truth = 99000.0 * pw::isa_pressure_ratio(height);
    CHECK(reading.pressure == Approx(truth + drift + noise).epsilon(1e-14));
    CHECK(101325.0 * pw::isa_pressure_ratio(reading.altitude) ==
          Approx(reading.pressure).epsilon(1e-12));
  }
}

TEST_CASE("lanes are independent, with only the scalar hooks", "[barometer]") {
  const Pair both = pw::isa_pressure_ratio(Pair(100.0, 7000.0));
  CHECK(first(both) == pw::isa_pressure_ratio(100.0));
  CHECK(second(both) == pw::isa_pressure_ratio(7000.0));
  CHECK(reading(pw::isa_altitude(Counted(0.7))) == pw::isa_altitude(0.7));
}

}  // namespace test_barometer
