// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "generate/search/token_choice.h"

namespace weft {

// Scores the next token of a set of growing sequences ("rows": hypotheses of a search). Holds what decoding needs of
// each row's past (a key/value cache), so that only new tokens are fed.
//
// A row's logits must depend on that row alone, bit for bit: not on which other rows are alive, nor on their order.
// Then texts do not depend on how sentences are batched.
class NextTokenModel {
 public:
  virtual ~NextTokenModel() = default;

  virtual int64_t vocabulary() const = 0;
  // Positions (fed tokens) that a row can hold.
  virtual int64_t max_length() const = 0;
  // Rows now alive. A fresh model has none.
  virtual int64_t num_rows() const = 0;
  // Threads that the search may use for its own part; rows are shared out, the result does not depend on it.
  virtual int threads() const { return 1; }

  // The next `count` of the batch's sentences begin: an empty row each, after those alive.
  virtual void admit(int64_t count) = 0;

  // Feeds row r its new tokens[offsets[r]..offsets[r + 1]), one or more; offsets has num_rows() + 1 entries, the first
  // 0. There are logits after each row's last token then, until the next call.
  virtual void advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) = 0;
  // Answers questions about the rows' logits, as they were when they were made.
  virtual std::vector<TokenAnswer> choose(std::span<const TokenQuestion> questions, const TokenChoice& choice) = 0;

  // Row i continues what row parents[i] held; rows may be duplicated and dropped.
  virtual void reorder(std::span<const int32_t> parents) = 0;
};

// The model that decodes a batch, as a search sees it.
struct DecodingBatch {
  std::span<const int64_t> sentences;  // indices into the inputs, in the order in which they are admitted
  int64_t max_sentences = 0;           // alive at once
  int64_t max_rows = 0;                // rows alive at once
  int64_t capacity = 0;                // positions that a row may come to hold; a model may have fewer: max_length()
};
using ModelFactory = std::function<std::unique_ptr<NextTokenModel>(const DecodingBatch&)>;

}  // namespace weft
