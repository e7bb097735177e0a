#pragma once
/// @file
/// The interpreter of trace programs, in packs. It may be compiled for several instruction sets,
/// and includes no code that a linker could merge between them.

#include "propwash/math/pack.hpp"
#include "propwash/math/trace_instruction.hpp"

namespace propwash {

/// Executes a program; see TraceRunner. Isa identifies the translation unit, Real is double or a
/// Pack of them.
template <class Isa, class Real>
void run_trace(const TraceInstruction* code, std::size_t count, double* slots) {
  constexpr int lanes = static_cast<int>(sizeof(Real) / sizeof(double));
  constexpr int width = trace_lanes / lanes;
  const auto load = [](const double* from) PROPWASH_LAMBDA { return Real::load(from); };
  for (const TraceInstruction* at = code; at != code + count; ++at) {
    double* const to = slots + at->to * trace_lanes;
    const double* const a = slots + at->a * trace_lanes;
    const double* const b = slots + at->b * trace_lanes;
    const double* const c = slots + at->c * trace_lanes;
    const auto each = [&](auto&& f) PROPWASH_LAMBDA {
      for_each_index<width>(width, [&](int i)
                                       PROPWASH_LAMBDA { f(i * lanes).store(to + i * lanes); });
    };
    switch (at->op) {
      case TraceOp::add:
        each([&](int i) PROPWASH_LAMBDA { return load(a + i) + load(b + i); });
        break;
      case TraceOp::subtract:
        each([&](int i) PROPWASH_LAMBDA { return load(a + i) - load(b + i); });
        break;
      case TraceOp::multiply:
        each([&](int i) PROPWASH_LAMBDA { return load(a + i) * load(b + i); });
        break;
      case TraceOp::multiply_add:
        each([&](int i) PROPWASH_LAMBDA { return load(a + i) * load(b + i) + load(c + i); });
        break;
      case TraceOp::multiply_subtract:
        each([&](int i) PROPWASH_LAMBDA { return load(a + i) * load(b + i) - load(c + i); });
        break;
      case TraceOp::subtract_multiply:
        each([&](int i) PROPWASH_LAMBDA { return load(c + i) - load(a + i) * load(b + i); });
        break;
      case TraceOp::negate:
        each([&](int i) PROPWASH_LAMBDA { return -load(a + i); });
        break;
      case TraceOp::reciprocal:
        each([&](int i) PROPWASH_LAMBDA {
          const Real x = load(a + i);
          return select(abs(x) > Real(0.0), Real(1.0) / x, Real(0.0));
        });
        break;
      case TraceOp::sqrt:
        each([&](int i) PROPWASH_LAMBDA { return sqrt(max(load(a + i), Real(0.0))); });
        break;
      case TraceOp::abs:
        each([&](int i) PROPWASH_LAMBDA { return abs(load(a + i)); });
        break;
      case TraceOp::signed_square:
        each([&](int i) PROPWASH_LAMBDA { return load(a + i) * abs(load(a + i)); });
        break;
      case TraceOp::less:
        each([&](int i) PROPWASH_LAMBDA {
          return select(load(a + i) < load(b + i), Real(1.0), Real(0.0));
        });
        break;
      case TraceOp::select:
        each([&](int i) PROPWASH_LAMBDA {
          return select(load(a + i) > Real(0.0), load(b + i), load(c + i));
        });
        break;
      case TraceOp::round:
        each([&](int i) PROPWASH_LAMBDA { return round(load(a + i)); });
        break;
      case TraceOp::sin:
        each([&](int i) PROPWASH_LAMBDA { return sin(load(a + i)); });
        break;
      case TraceOp::cos:
        each([&](int i) PROPWASH_LAMBDA { return cos(load(a + i)); });
        break;
      default:  // inputs and constants have no instruction
        break;
    }
  }
}

}  // namespace propwash
