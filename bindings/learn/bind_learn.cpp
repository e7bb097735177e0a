#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "commands.hpp"
#include "evaluation.hpp"
#include "instances.hpp"
#include "modules.hpp"

namespace propwash::bindings {

namespace {

/// Clips actions and increments the step counters.
py::tuple take_actions(const Floats& actions, const std::optional<Truths>& ignored,
                       InputArray<std::int32_t>& steps) {
  const std::size_t n = actions.shape(0), width = actions.shape(1);
  std::int32_t* const count = steps.writable_rows(n);
  auto clipped = new_array<float>(n, width);
  auto counts = py::none().cast<py::object>();
  std::vector<std::int32_t> beyond(n);
  const auto found =
      learn::clip_actions(actions.data(), n, width, ignored ? ignored->rows(n) : nullptr,
                          clipped.mutable_data(), beyond.data());
  if (found.bad >= 0) {
    const auto row = py::object(actions.array()[py::int_(found.bad)]).attr("tolist")();
    throw py::value_error("actions: expected numbers in [-1, 1], got " +
                          py::str(row).cast<std::string>() + " for environment " +
                          std::to_string(found.bad));
  }
  for (std::size_t i = 0; i < n; ++i) ++count[i];
  if (found.any) counts = py::array_t<std::int32_t>(static_cast<py::ssize_t>(n), beyond.data());
  return py::make_tuple(clipped, counts);
}

void bind_actions(py::module_& m) {
  m.def("take_actions", &take_actions, "actions"_a, "ignored"_a, "steps"_a.noconvert(),
        "Clips actions to [-1, 1] and increments steps. Returns the clipped actions (n, A) and the "
        "number of clipped ones in each row (n,), or None if there are none.\n\n"
        "ignored: (n,) rows that may contain any values, or None. steps: (n,), updated in place. "
        "Raises ValueError for NaN.");
  using Map = learn::RateThrustAction<float>;
  py::class_<Map>(m, "RateThrustAction", "Converts actions (n, 4) to body rates and thrust.")
      .def(py::init([](std::array<float, 3> rates, float weight, float reserve) {
             return Map{{rates[0], rates[1], rates[2]}, weight, reserve};
           }),
           "max_rates"_a, "weight"_a, "reserve"_a)
      .def(py::pickle(
          [](const Map& map) {
            const auto& r = map.max_rates;
            return py::make_tuple(r.x, r.y, r.z, map.weight, map.reserve);
          },
          [](const py::tuple& state) {
            const auto at = [&](std::size_t i) { return state[i].cast<float>(); };
            return Map{{at(0), at(1), at(2)}, at(3), at(4)};
          }))
      .def(
          "command",
          [](const Map& map, const Floats& action) {
            const std::size_t n = action.shape(0);
            auto rates = new_array<float>(n, 3);
            auto thrust = new_array<float>(n);
            map(action.rows(n, 4), n, rates.mutable_data(), thrust.mutable_data());
            return std::make_unique<RateThrustCommand>(std::array<py::object, 2>{rates, thrust});
          },
          "action"_a, "Returns the command for a fleet.");
}

void observe(const Floats& position, const Floats& velocity, const Floats& attitude,
             const Floats& body_rates, const Floats& action, const std::optional<Floats>& target,
             bool in_body, const std::vector<Floats>& extras, Floats& seen) {
  const std::size_t n = seen.shape(0), width = seen.shape(1), acted = action.shape(1);
  std::size_t column = learn::state_columns + acted;
  const bool one = target && target->size() == 3;
  float* const to = seen.writable_rows(n, width);
  for (const auto& extra : extras) column += extra.shape(1);
  if (column != width)
    throw py::value_error("seen: expected as many columns as the state, action and extras have");
  learn::observe_state<float>(
      {n, position.rows(n, 3), velocity.rows(n, 3), attitude.rows(n, 4), body_rates.rows(n, 3)},
      target ? target->rows(one ? 1 : n, 3) : nullptr, one,
      {static_cast<int>(acted), action.rows(n, acted), nullptr}, in_body, to, width);
  column = learn::state_columns + acted;
  for (const auto& extra : extras) {
    const std::size_t more = extra.shape(1);
    learn::append<float>({more, extra.rows(n, more)}, n, to, width, column);
    column += more;
  }
}

py::array_t<float> in_body(const Floats& attitude, const Floats& vectors) {
  const std::size_t n = vectors.shape(0), each = vectors.shape(1) / 3;
  auto rotated = new_array<float>(n, vectors.shape(1));
  std::memcpy(rotated.mutable_data(), vectors.rows(n, each * 3), vectors.size() * sizeof(float));
  learn::rotate_to_body(attitude.rows(n, 4), n, each, rotated.mutable_data());
  return rotated;
}

py::array_t<float> rotations(const Floats& attitude) {
  const std::size_t n = attitude.shape(0);
  py::array_t<float> matrices({static_cast<py::ssize_t>(n), py::ssize_t{3}, py::ssize_t{3}});
  learn::rotation_matrices(attitude.rows(n, 4), n, matrices.mutable_data());
  return matrices;
}

/// The task-independent part of a step: termination, truncation and checks of all environments.
py::tuple conclude(const std::vector<Floats>& seen, const Floats& reward, const Truths& ended,
                   const std::optional<Truths>& diverged, const InputArray<std::int32_t>& steps,
                   std::int32_t limit, const std::optional<Truths>& pending) {
  const std::size_t n = steps.size();
  if (reward.array().ndim() != 1 || ended.array().ndim() != 1) {
    throw py::value_error("reward, ended: expected one axis");
  }
  auto rewards = new_array<float>(n);
  auto terminated = new_array<bool>(n), truncated = new_array<bool>(n), done = new_array<bool>(n);
  const auto rows_if = [n](const std::optional<Truths>& flags) {
    return flags ? flags->rows(n) : nullptr;
  };
  learn::conclude<float>(
      n, {reward.rows(n), ended.rows(n), rows_if(diverged), rows_if(pending), steps.rows(n), limit},
      {rewards.mutable_data(), terminated.mutable_data(), truncated.mutable_data(),
       done.mutable_data()});
  const bool any = std::find(done.data(), done.data() + n, true) != done.data() + n;
  bool fine = first_not_finite(rewards.data(), static_cast<py::ssize_t>(n)) < 0;
  for (const auto& array : seen) {
    fine = fine && first_not_finite(array.data(), array.array().size()) < 0;
  }
  return py::make_tuple(rewards, terminated, truncated, done, any, fine);
}

void bind_observation(py::module_& m) {
  m.def("observe_state", &observe, "position"_a, "velocity"_a, "attitude"_a, "body_rates"_a,
        "action"_a, "target"_a, "in_body"_a, "extras"_a, "seen"_a.noconvert(),
        "Writes observed states to seen (n, k) in the layout of propwash.gym.Task.observation.");
  m.def("in_body", &in_body, "attitude"_a, "vectors"_a,
        "Transforms k vectors for each vehicle (n, 3 k) from the world frame to the body frame.");
  m.def("rotations", &rotations, "attitude"_a,
        "Returns rotation matrices (n, 3, 3), body to world.");
  m.def(
      "conclude", &conclude, "seen"_a, "reward"_a, "ended"_a, "diverged"_a, "steps"_a, "limit"_a,
      "pending"_a,
      "Returns (reward, terminated, truncated, done, whether any is done, whether all numbers are "
      "finite).\n\n"
      "limit: maximum number of steps of an episode, 0 for no limit. pending: (n,) whether the "
      "step "
      "only began a new episode, or None.");
}

using Hover = learn::HoverReward<float>;
constexpr Weight<Hover> hover_weights[] = {{"position", &Hover::position},
                                           {"position_scale", &Hover::position_scale},
                                           {"upright", &Hover::upright},
                                           {"body_rates", &Hover::body_rates},
                                           {"action_change", &Hover::action_change}};

py::tuple judge_hover(const Floats& position, const Floats& attitude, const Floats& body_rates,
                      const Floats& action, const Floats& previous, const py::object& weights,
                      float bound) {
  const std::size_t n = position.shape(0);
  Evaluation result(n);
  learn::judge_hover<float>(
      {n, position.rows(n, 3), nullptr, attitude.rows(n, 4), body_rates.rows(n, 3)},
      actions_of(action, previous, n), weights_of(weights, hover_weights), bound,
      result.reward.mutable_data(), result.over.mutable_data(), result.distance.mutable_data());
  return result.tuple();
}

}  // namespace

void bind_learn(py::module_& m) {
  bind_actions(m);
  bind_observation(m);
  m.def("judge_hover", &judge_hover, "position"_a, "attitude"_a, "body_rates"_a, "action"_a,
        "previous"_a, "weights"_a, "bound"_a,
        "Returns (reward, over, distance [m]), (n,) each, of propwash.gym.Hover.\n\n"
        "weights: a HoverReward.");
}

}  // namespace propwash::bindings
