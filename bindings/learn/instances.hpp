#pragma once
/// @file
/// Functions of every task and of Hover for float, compiled with full optimisation in
/// instances.cpp.

#include "propwash/learn/impl/actions.hpp"
#include "propwash/learn/impl/conclude.hpp"
#include "propwash/learn/impl/hover.hpp"
#include "propwash/learn/impl/observation.hpp"

#if !defined(PROPWASH_LEARN_INSTANCE)
#define PROPWASH_LEARN_INSTANCE extern
#endif

namespace propwash::learn {

PROPWASH_LEARN_INSTANCE template Clipped clip_actions(const float* actions, std::size_t size,
                                                      std::size_t width, const bool* ignored,
                                                      float* clipped, std::int32_t* counts);
PROPWASH_LEARN_INSTANCE template struct RateThrustAction<float>;
PROPWASH_LEARN_INSTANCE template void observe_state(const StateRows<float>& state,
                                                    const float* target, bool one_target,
                                                    const ActionRows<float>& action, bool in_body,
                                                    float* seen, std::size_t width);
PROPWASH_LEARN_INSTANCE template void append(const ExtraRows<float>& extra, std::size_t size,
                                             float* seen, std::size_t width, std::size_t column);
PROPWASH_LEARN_INSTANCE template void rotate_to_body(const float* attitude, std::size_t size,
                                                     std::size_t count, float* vectors);
PROPWASH_LEARN_INSTANCE template void rotation_matrices(const float* attitude, std::size_t size,
                                                        float* to);
PROPWASH_LEARN_INSTANCE template void conclude(std::size_t size, const Outcome<float>& from,
                                               const Conclusion<float>& to);
PROPWASH_LEARN_INSTANCE template void judge_hover(const StateRows<float>& state,
                                                  const ActionRows<float>& action,
                                                  const HoverReward<float>& weights, float bound,
                                                  float* reward, bool* over, float* distance);

}  // namespace propwash::learn
