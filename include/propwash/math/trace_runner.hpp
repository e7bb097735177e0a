#pragma once
/// @file
/// The interpreter of trace programs, in packs. It may be compiled for several instruction sets,
/// and includes no code that a linker could merge between them.

#include "propwash/math/pack.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/trace_instruction.hpp"

namespace propwash {

/// Executes a program; see TraceRunner. Isa identifies the translation unit, Real is double or a
/// Pack of them.
template <class Isa, class Real>
void run_trace(const TraceBatch* batches, std::size_t count, const TraceInstruction* code,
               double* slots) {
  constexpr int lanes = static_cast<int>(sizeof(Real) / sizeof(double));
  constexpr int width = trace_lanes / lanes;
  for (const TraceBatch* batch = batches; batch != batches + count; ++batch) {
    const TraceInstruction* const end = code + batch->count;
    const auto each = [&](auto&& f) PROPWASH_LAMBDA {
      for (; code != end; ++code) {
        double* const to = slots + code->to * trace_lanes;
        const double* const a = slots + code->a * trace_lanes;
        const double* const b = slots + code->b * trace_lanes;
        const double* const c = slots + code->c * trace_lanes;
        for_each_index<width>(width, [&](int i) PROPWASH_LAMBDA {
          f(Real::load(a + i * lanes), b + i * lanes, c + i * lanes).store(to + i * lanes);
        });
      }
    };
    const Real zero(0.0), one(1.0);
    const Real smallest_divisor(trace_smallest_divisor);
    const Real smallest_radicand(trace_smallest_radicand);
    using Where = const double*;
    switch (batch->op) {
      case TraceOp::multiply_add:
        each([](const Real& a, Where b, Where c) PROPWASH_LAMBDA {
          return a * Real::load(b) + Real::load(c);
        });
        break;
      case TraceOp::subtract_multiply:
        each([](const Real& a, Where b, Where c) PROPWASH_LAMBDA {
          return Real::load(c) - a * Real::load(b);
        });
        break;
      case TraceOp::multiply:
        each([](const Real& a, Where b, Where) PROPWASH_LAMBDA { return a * Real::load(b); });
        break;
      case TraceOp::add:
        each([](const Real& a, Where b, Where) PROPWASH_LAMBDA { return a + Real::load(b); });
        break;
      case TraceOp::reciprocal:
        each([&](const Real& a, Where, Where) PROPWASH_LAMBDA {
          return select(abs(a) > smallest_divisor, one / a, zero);
        });
        break;
      case TraceOp::sqrt:
        each([&](const Real& a, Where, Where) PROPWASH_LAMBDA {
          return select(a > smallest_radicand, sqrt(max(a, zero)), zero);
        });
        break;
      case TraceOp::abs:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return abs(a); });
        break;
      case TraceOp::signed_square:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return a * abs(a); });
        break;
      case TraceOp::less:
        each([&](const Real& a, Where b, Where) PROPWASH_LAMBDA {
          return select(a < Real::load(b), one, zero);
        });
        break;
      case TraceOp::select:
        each([&](const Real& a, Where b, Where c) PROPWASH_LAMBDA {
          return select(a > zero, Real::load(b), Real::load(c));
        });
        break;
      case TraceOp::round:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return round(a); });
        break;
      case TraceOp::sin:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return sin(a); });
        break;
      case TraceOp::cos:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return cos(a); });
        break;
      case TraceOp::exp:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return exp(a); });
        break;
      case TraceOp::log:
        each([](const Real& a, Where, Where) PROPWASH_LAMBDA { return log(a); });
        break;
      default:  // compiled to the operations above, or without an instruction
        break;
    }
  }
}

}  // namespace propwash
