// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/context.h"

namespace weft {

// The rules for one text's next token, by its row of logits. The lists are sorted, without a token twice.
struct TokenQuestion {
  int32_t row = 0;
  std::vector<int32_t> blocked;   // never chosen
  std::optional<int32_t> forced;  // the only one that may be chosen, whatever is blocked
  std::vector<int32_t> repeated;  // the penalty applies to these
  double uniform = 0;             // in (0, 1), where tokens are drawn
};

// The rules that hold for all texts (kernels/ops/choose_tokens.h has the formulas).
struct TokenChoice {
  int64_t count = 1;               // the best tokens of each text; as many as there are, if that is less
  bool log_probabilities = false;  // whether the penalty strikes them, and not the logits
  double penalty = 1;
  double scale = 1;     // multiplies the scores before exp
  bool masses = false;  // whether log_mass is wanted
  bool draw = false;    // one token at the text's uniform, and not the best
};

struct ChosenToken {
  int32_t token = 0;
  float score = 0;  // after penalty and scale
  float logit = 0;  // the model's own
};

struct TokenAnswer {
  double log_sum = 0;               // the row's: log-probabilities are logits less this
  double log_mass = 0;              // of the tokens that are not blocked, after penalty and scale
  std::vector<ChosenToken> chosen;  // best first; fewer if no more are left
};

// The device reduces the logits, f32[rows, vocabulary], and the host reads what is left, once. Rows are whole: where a
// vocabulary is divided over tp, decoding gathers them (Transformer::decode), and every rank chooses the same.
std::vector<TokenAnswer> ask(Context& context, const Tensor& logits, std::span<const TokenQuestion> questions,
                             const TokenChoice& choice);

}  // namespace weft
