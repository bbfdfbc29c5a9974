// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/fields.h"
#include "kernels/context.h"
#include "kernels/ops/attention.h"

namespace weft {

// Which two elements of a head rotate together, i < head_dim / 2: i and i + head_dim / 2 (GPT-NeoX, and Llama as
// Hugging Face stores it), or 2 i and 2 i + 1 (Su et al. 2021, and Llama as Meta stores it).
enum class RotaryForm : uint8_t { Halves, Interleaved };

template <>
struct EnumNames<RotaryForm> {
  static constexpr auto kNames = enum_names<RotaryForm>("halves", "interleaved");
};

// What is normed before attention (QK-norm, by root mean squares): nothing; each query and each key by itself (Qwen 3);
// all queries of a token together, and all its keys (OLMo 2).
enum class QkNorm : uint8_t { None, Head, Width };

template <>
struct EnumNames<QkNorm> {
  static constexpr auto kNames = enum_names<QkNorm>("none", "head", "width");
};

inline constexpr int64_t kMostHeadColumns = 1024;  // of heads that are normed or rotated

// The heads in a row: `groups` times `queries` query heads, `keys` key heads and `values` value heads. Packed QKV is
// {kv_heads, queries, 1, 1}, a Q row {kv_heads, queries, 0, 0}, a packed KV row {kv_heads, 0, 1, 1}.
struct HeadRow {
  int64_t groups = 1, queries = 0, keys = 0, values = 0, head_dim = 1;
  int64_t of_group() const { return queries + keys + values; }
  int64_t columns() const { return groups * of_group() * head_dim; }
};

// Rotary positions (Su et al., "RoFormer", 2021): pair i of a query or key at position t is turned by the angle whose
// cosine and sine stand in row t, column i of the tables.
struct Rotary {
  Tensor cosines, sines;  // accumulator dtype [positions, head_dim / 2], or absent
  RotaryForm form = RotaryForm::Halves;
  Tensor row_positions;  // i32 [rows], if there are tables: rows of the tables, checked where they are made
};

// The norm of HeadsForward and HeadsBackward. x rstd gamma, with rstd = 1 / sqrt(mean(x^2) + epsilon); the mean is over
// a head, or over all features of a token's queries (or keys) on all ranks, whose sums of squares are then given.
struct HeadNorm {
  QkNorm scope = QkNorm::None;
  Tensor query_gamma, key_gamma;  // compute dtype: Head [head_dim], Width [this rank's features]; absent: all 1
  double epsilon = 1e-6;
  Tensor squares;                                // Width: accumulator dtype [rows, 2], queries' sum and keys' sum
  int64_t query_features = 0, key_features = 0;  // Width: on all ranks
};

// y: queries and keys normed, then rotated; values as they are. Without a norm x is rotated where it lies: backward
// reads it only if there is one.
struct HeadsForward {
  Tensor x;  // [rows, columns of the row]
  HeadRow row;
  HeadNorm norm;
  Rotary rotary;
  Tensor y;  // like x, written; absent without a norm
};
void heads_forward(Context& context, const HeadsForward& args);

// sums[r] = the sums of squares of row r's queries and of its keys. Over tp they are then added up.
struct HeadSquares {
  Tensor x;
  HeadRow row;
  Tensor sums;  // accumulator dtype [rows, 2], written
};
void head_squares(Context& context, const HeadSquares& args);

// With g = rotation'(dy) gamma and n = x rstd: dx = rstd (g - n mean(g n)); dgamma = sums of rotation'(dy) n.
struct HeadsBackward {
  Tensor d;  // dy, which becomes dx in place
  Tensor x;  // as forward read it, if there is a norm
  HeadRow row;
  HeadNorm norm;
  Rotary rotary;
  Tensor products;  // Width: accumulator dtype [rows, 2], the sums of g n over all features of queries and of keys
  Gradient dquery_gamma, dkey_gamma;  // accumulator dtype, or absent
};
void heads_backward(Context& context, const HeadsBackward& args);

// sums[r] = the sums of g n over row r's queries and over its keys: HeadsBackward::products of one rank.
struct HeadProducts {
  Tensor dy, x;
  HeadRow row;
  HeadNorm norm;
  Rotary rotary;
  Tensor sums;  // accumulator dtype [rows, 2], written
};
void head_products(Context& context, const HeadProducts& args);

}  // namespace weft
