#pragma once
/// @file
/// The instructions of a trace program (trace_program.hpp).

#include <cstddef>
#include <cstdint>

namespace propwash {

/// Smaller divisors count as 0, which has the derivative 0: powers of their derivatives would
/// exceed the range of double.
inline constexpr double trace_smallest_divisor = 1e-30;
/// Smaller radicands of square roots count as 0, for the same reason.
inline constexpr double trace_smallest_radicand = 1e-24;

/// The operations of a TraceGraph. The last two are those of a TraceProgram only.
enum class TraceOp : std::uint8_t {
  input,
  constant,
  add,
  subtract,
  multiply,
  negate,
  reciprocal,  ///< 1 / a, or 0 where |a| <= trace_smallest_divisor
  sqrt,        ///< or 0 where a <= trace_smallest_radicand
  abs,
  signed_square,  ///< a |a|
  less,           ///< a < b ? 1 : 0
  select,         ///< a is 1 ? b : c
  round,
  sin,
  cos,
  exp,
  log,
  multiply_add,      ///< a b + c
  subtract_multiply  ///< c - a b
};

/// Numbers of a slot: enough to hide the cost of decoding an instruction.
inline constexpr int trace_lanes = 32;

/// An operation on slots: of the result and of the operands.
struct TraceInstruction {
  std::uint16_t to;  ///< slot of the result
  std::uint16_t a;   ///< slot of the first operand
  std::uint16_t b;   ///< slot of the second operand
  std::uint16_t c;   ///< slot of the third operand
};

/// Successive instructions with the same operation, so that the processor predicts the branch to
/// its code.
struct TraceBatch {
  TraceOp op;           ///< the operation
  std::uint16_t count;  ///< number of instructions
};

/// Executes `count` batches on slots of trace_lanes numbers, aligned to cache lines.
using TraceRunner = void (*)(const TraceBatch* batches, std::size_t count,
                             const TraceInstruction* code, double* slots);

}  // namespace propwash
