#pragma once
/// @file
/// The instructions of a trace program (trace_program.hpp).

#include <cstddef>
#include <cstdint>

namespace propwash {

/// The operations of a TraceGraph. The last three are those of a TraceProgram only.
enum class TraceOp : std::uint8_t {
  input,
  constant,
  add,
  subtract,
  multiply,
  negate,
  reciprocal,     ///< 1 / a, or 0 where a is 0
  sqrt,           ///< or 0 where a is negative
  abs,
  signed_square,  ///< a |a|
  less,           ///< a < b ? 1 : 0
  select,         ///< a is 1 ? b : c
  round,
  sin,
  cos,
  multiply_add,       ///< a b + c
  multiply_subtract,  ///< a b - c
  subtract_multiply   ///< c - a b
};

/// Numbers of a slot: enough to hide the cost of decoding an instruction.
inline constexpr int trace_lanes = 16;

/// An operation on slots.
struct TraceInstruction {
  TraceOp op;                   ///< the operation
  std::uint16_t to, a, b, c;    ///< slots of the result and of the operands
};

/// Executes instructions on slots of trace_lanes numbers, aligned to cache lines.
using TraceRunner = void (*)(const TraceInstruction* code, std::size_t count, double* slots);

}  // namespace propwash
