// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft {

// Of texts that grow by a token: which row of the logits each continues, and what its rules say. All i32, in one piece
// where they were uploaded together. `blocked` and `repeated` hold each text's tokens one text after the other, of text
// t from its begin to that of text t + 1, sorted and distinct.
struct TextRules {
  Tensor rows;                     // [texts]
  Tensor blocked_begins, blocked;  // [texts + 1], [all]
  Tensor repeated_begins, repeated;
};

// For text t with x = logits[rows[t]]:
//   log_sum = log(sum_v exp(x[v]))                       -inf: all are; NaN or +inf: one is NaN or +inf
//   s[v] = x[v], or as log-probability x[v] - log_sum, rounded to f32
//   s[v] = s[v] > 0 ? s[v] / penalty : s[v] * penalty    of repeated tokens
//   s[v] = -inf                                          of blocked tokens
//   log_mass = log(sum_v exp(scale * s[v]))
// The tokens chosen are the `count` best, the larger s first, of two alike the smaller token; those at -inf are never
// chosen. Or, with `uniforms`, the one at which sum_{w <= v} exp(scale * s[w] - log_mass) reaches uniforms[t].
// Sums run in one order, whatever other texts there are.
struct ChooseTokens {
  Tensor logits;  // f32[rows, vocabulary]
  TextRules rules;
  int64_t count = 1;  // at most the vocabulary; 1 with uniforms
  bool log_probabilities = false;
  double penalty = 1;
  double scale = 1;
  bool masses = false;  // whether log_mass is wanted; it is 0 where not, and always made with uniforms
  Tensor uniforms;      // f64[texts] in (0, 1), or absent
  // f64[texts, 2 + 3 count], for one download: log_sum, log_mass, then (token, s[token], x[token]) for each chosen one.
  // Token -1: no more are left.
  Tensor out;
};

void choose_tokens(Context& context, const ChooseTokens& args);

}  // namespace weft
