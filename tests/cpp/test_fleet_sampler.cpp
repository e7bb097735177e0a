// Calls are split at the steps of samplers, with bit-identical results.
#include <stdexcept>

#include "catch.hpp"
#include "fleet_engine.hpp"

namespace test_fleet_sampler {

namespace pw = propwash;

namespace {

/// Records the positions at every `interval`-th step.
template <class T>
class Camera final : public pw::FleetSampler {
 public:
  Camera(const pw::Fleet<pw::Multicopter<>, T>& fleet, std::uint64_t interval)
      : fleet_(fleet), interval_(interval) {
    next_step = fleet.steps();
  }
  void sample(std::uint64_t step) override {
    CHECK(fleet_.steps() == step);
    steps.push_back(step);
    seen.push_back(rows(fleet_, pw::FleetField::position));
    next_step = step + interval_;
  }

  std::vector<std::uint64_t> steps;
  std::vector<std::vector<T>> seen;

 private:
  const pw::Fleet<pw::Multicopter<>, T>& fleet_;
  std::uint64_t interval_;
};

class Fault final : public pw::FleetSampler {
 public:
  explicit Fault(std::uint64_t at) { next_step = at; }
  void sample(std::uint64_t) override { throw std::runtime_error("no image"); }
};

/// With an IMU that splits steps too, delays, noise and ground contact.
template <class T>
pw::Fleet<pw::Multicopter<>, T> equipped() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.0046;
  vehicle.imu.rate = 130.0;
  pw::FleetOptions options;
  options.seed = 5;
  options.floor = -0.01;
  options.turbulence = {6.0, 15.0, 6.0};
  return make_fleet<T>(vehicle, 5, options);
}

}  // namespace

TEMPLATE_TEST_CASE("a sampler is called at its steps and does not change the flight", "", float,
                   double) {
  using T = TestType;
  const bool rates = GENERATE(true, false);
  auto plain = equipped<T>();
  auto sampled = equipped<T>();
  auto stepped = equipped<T>();
  Camera<T> often(sampled, 3), seldom(sampled, 25);
  sampled.attach(often);
  fly(sampled, rates, 0, 1, 11);
  sampled.attach(seldom);  // at the step of the last call
  fly(sampled, rates, 1, 8, 11);
  fly(plain, rates, 0, 8, 11);
  CHECK(same_bits(everything_of(sampled), everything_of(plain)));
  CHECK(sampled.snapshot() == plain.snapshot());

  REQUIRE(often.steps.size() == 30);
  CHECK(often.steps[1] == 4);
  CHECK(often.steps.back() == 88);  // overdue at the first step, so called after it
  CHECK(seldom.steps == std::vector<std::uint64_t>{12, 37, 62, 87});
  std::size_t k = 0;
  for (int call = 0; call < 8; ++call) {
    const auto commands = fleet_commands<T>(call, stepped.vehicle(), stepped.size());
    for (int i = 0; i < 11; ++i) {
      fly(stepped, rates, commands, 1);
      if (k == often.steps.size() || stepped.steps() != often.steps[k]) continue;
      CHECK(same_bits(often.seen[k++], rows(stepped, pw::FleetField::position)));
    }
  }
  CHECK(k == often.steps.size());

  sampled.detach(often);
  sampled.detach(seldom);
  fly(sampled, rates, 8, 9, 11);
  CHECK(often.steps.size() == 30);
  CHECK(seldom.steps.size() == 4);
}

TEST_CASE("outer loops run at their steps between samples") {
  auto plain = equipped<double>();
  auto sampled = equipped<double>();
  Camera<double> camera(sampled, 7);
  sampled.attach(camera);
  const std::vector<double> position(15, 0.5);
  pw::FleetPositionCommand<double> command;
  command.position = position;
  plain.step(command, 200);
  sampled.step(command, 200);
  CHECK(camera.steps.size() == 29);
  CHECK(sampled.snapshot() == plain.snapshot());
}

TEST_CASE("after a sampler's exception the fleet is at the sample and can continue") {
  auto plain = equipped<double>();
  auto sampled = equipped<double>();
  Fault fault(10);
  sampled.attach(fault);
  const auto commands = fleet_commands<double>(0, plain.vehicle(), plain.size());
  CHECK_THROWS_AS(fly(sampled, true, commands, 30), std::runtime_error);
  CHECK(sampled.steps() == 10);
  sampled.detach(fault);
  fly(sampled, true, commands, 20);
  fly(plain, true, commands, 30);
  CHECK(sampled.steps() == plain.steps());
  CHECK(same_bits(rows(sampled, pw::FleetField::position), rows(plain, pw::FleetField::position)));
}

TEST_CASE("a sampler that fails does not prevent the others' samples") {
  auto fleet = equipped<double>();
  Fault fault(10);
  Camera<double> camera(fleet, 10);
  camera.next_step = 10;
  fleet.attach(fault);
  fleet.attach(camera);
  CHECK_THROWS_AS(fly(fleet, true, 0, 1, 30), std::runtime_error);
  CHECK(camera.steps == std::vector<std::uint64_t>{10});
}

TEST_CASE("a copy of a fleet has no samplers") {
  auto fleet = equipped<double>();
  Camera<double> camera(fleet, 10);
  fleet.attach(camera);
  auto copy = fleet;
  fly(copy, true, 0, 1, 30);
  CHECK(camera.steps.empty());
  fly(fleet, true, 0, 1, 30);
  CHECK(camera.steps.size() == 3);
}

TEST_CASE("samplers continue after a reset with a seed and after restore") {
  auto fleet = equipped<double>();
  const auto start = fleet.snapshot();
  Camera<double> camera(fleet, 10);
  fleet.attach(camera);
  fly(fleet, true, 0, 1, 30);
  fleet.reset({}, 7);
  fly(fleet, true, 0, 1, 30);
  CHECK(camera.steps.size() == 6);
  fleet.restore(start);
  fly(fleet, true, 0, 1, 30);
  CHECK(camera.steps.size() == 9);
}

TEST_CASE("a sampler may not change the fleet") {
  class Meddler final : public pw::FleetSampler {
   public:
    explicit Meddler(pw::Fleet<pw::Multicopter<>, double>& fleet) : fleet_(fleet) {
      next_step = 10;
    }
    void sample(std::uint64_t) override {
      next_step += 10;
      const std::vector<double> wind(3, 1.0), factors(4, 0.5);
      CHECK_THROWS_AS(fly(fleet_, true, 0, 1, 1), std::logic_error);
      CHECK_THROWS_AS(fleet_.attach(*this), std::logic_error);
      CHECK_THROWS_AS(fleet_.detach(*this), std::logic_error);
      CHECK_THROWS_AS(fleet_.reset(), std::logic_error);
      CHECK_THROWS_AS(fleet_.set_wind(wind), std::logic_error);
      CHECK_THROWS_AS(fleet_.set_rotor_effectiveness(factors), std::logic_error);
      CHECK_THROWS_AS(fleet_.restore(fleet_.snapshot()), std::logic_error);
    }

   private:
    pw::Fleet<pw::Multicopter<>, double>& fleet_;
  };
  auto plain = equipped<double>();
  auto fleet = equipped<double>();
  Meddler meddler(fleet);
  fleet.attach(meddler);
  fly(fleet, true, 0, 1, 30);
  fly(plain, true, 0, 1, 30);
  CHECK(meddler.next_step == 40);
  CHECK(fleet.snapshot() == plain.snapshot());
}

TEST_CASE("parameters of a vehicle outside the fleet are rejected") {
  auto fleet = equipped<double>();
  const std::vector<pw::VehicleParameters> vehicles(5, fleet.vehicle());
  fleet.set_parameters(pw::EachVehicle{vehicles});
  const auto before = fleet.snapshot();
  const std::vector<std::size_t> some{1, 5};
  CHECK_THROWS_AS(fleet.set_parameters(pw::EachVehicle{vehicles}, some), std::invalid_argument);
  CHECK(fleet.snapshot() == before);
}

}  // namespace test_fleet_sampler
