// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/context.h"

namespace weft {

// The rules for one text's next token, and its row of the logits. The lists are sorted and hold no token twice.
struct TokenQuestion {
  int32_t row = 0;
  std::vector<int32_t> blocked;   // tokens that are never chosen
  std::optional<int32_t> forced;  // the only token that may be chosen, whatever is blocked
  std::vector<int32_t> repeated;  // tokens to which the penalty applies
  double uniform = 0;             // in (0, 1); decides which token is drawn
};

// The rules that hold for all texts (kernels/ops/choose_tokens.h has the formulas).
struct TokenChoice {
  int64_t count = 1;               // number of best tokens per text; fewer are returned if fewer are left
  bool log_probabilities = false;  // whether the penalty applies to log-probabilities instead of logits
  double penalty = 1;
  double scale = 1;     // multiplies the scores before exp
  bool masses = false;  // whether to compute log_mass
  bool draw = false;    // whether to draw one token by the text's uniform instead of taking the best
};

struct ChosenToken {
  int32_t token = 0;
  float score = 0;  // after the penalty, before the scale
  float logit = 0;  // the model's own
};

struct TokenAnswer {
  double log_sum = 0;               // log(sum(exp(logits))) of the row: log-probabilities are logits minus log_sum
  double log_mass = 0;              // log(sum(exp(scale * score))) over the tokens that are not blocked
  std::vector<ChosenToken> chosen;  // best first; fewer than `count` if no more are left
};

// The device reduces the logits, f32[rows, vocabulary], and the host downloads the answers once. Rows are whole: if the
// vocabulary is divided over tp, decoding gathers them (Transformer::decode), and every rank chooses the same tokens.
std::vector<TokenAnswer> ask(Context& context, const Tensor& logits, std::span<const TokenQuestion> questions,
                             const TokenChoice& choice);

}  // namespace weft
