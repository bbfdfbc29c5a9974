// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft {

// For texts that grow by a token: the row of the logits that each text continues, and the tokens that its rules block
// or penalise. All i32; the tensors may be slices of one upload. `blocked` and `repeated` hold the texts' tokens one
// text after the other, those of text t from begins[t] to begins[t + 1], sorted and distinct.
struct TextRules {
  Tensor rows;                     // [texts]
  Tensor blocked_begins, blocked;  // [texts + 1], [blocked tokens of all texts]
  Tensor repeated_begins, repeated;
};

// For text t with x = logits[rows[t]]:
//   log_sum = log(sum_v exp(x[v]))                       -inf if all x[v] are; NaN or +inf if one x[v] is NaN or +inf
//   s[v] = x[v], or x[v] - log_sum with `log_probabilities`, rounded to f32
//   s[v] = s[v] > 0 ? s[v] / penalty : s[v] * penalty    if v is repeated
//   s[v] = -inf                                          if v is blocked
//   log_mass = log(sum_v exp(scale * s[v]))
// It chooses the `count` tokens of largest s, in descending order of s, then in ascending order of tokens; never one at
// -inf. With `uniforms` it chooses the first v at which sum_{w <= v} exp(scale * s[w] - log_mass) reaches uniforms[t].
// The order of a text's sums does not depend on the other texts.
struct ChooseTokens {
  Tensor logits;  // f32[rows, vocabulary]
  TextRules rules;
  int64_t count = 1;  // at most the vocabulary; 1 with uniforms
  bool log_probabilities = false;
  double penalty = 1;
  double scale = 1;
  bool masses = false;  // compute log_mass, which is 0 if not; set by `uniforms` too
  Tensor uniforms;      // f64[texts] in (0, 1), or absent
  // f64[texts, 2 + 3 count], for one download: log_sum, log_mass, then (token, s[token], x[token]) of each chosen
  // token; token -1 if none is left.
  Tensor out;
};

void choose_tokens(Context& context, const ChooseTokens& args);

}  // namespace weft
