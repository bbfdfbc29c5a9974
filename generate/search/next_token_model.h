// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "generate/search/token_choice.h"

namespace weft {

// Scores the next token of a set of growing sequences ("rows": hypotheses of a search). Holds the part of each row's
// past that decoding needs (a key/value cache), so that only new tokens are fed.
//
// A row's logits must depend on that row alone, bit for bit: not on which other rows are alive, nor on their order.
// Then texts do not depend on how sentences are batched.
class NextTokenModel {
 public:
  virtual ~NextTokenModel() = default;

  virtual int64_t vocabulary() const = 0;
  // Positions (fed tokens) that a row can hold.
  virtual int64_t max_length() const = 0;
  // The number of living rows; 0 in a fresh model.
  virtual int64_t num_rows() const = 0;
  // Threads that the search may use to share out its own work on the rows; results do not depend on their number.
  virtual int threads() const { return 1; }

  // Begins the next `count` of the batch's sentences: adds an empty row for each after the living rows.
  virtual void admit(int64_t count) = 0;

  // Feeds row r its new tokens[offsets[r]..offsets[r + 1]), one or more; offsets has num_rows() + 1 entries, the first
  // 0. Computes the logits after each row's last token, which last until the next call.
  virtual void advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) = 0;
  // Answers questions about the logits of the last advance(), whose rows keep the numbers that they had in it.
  virtual std::vector<TokenAnswer> choose(std::span<const TokenQuestion> questions, const TokenChoice& choice) = 0;

  // Makes row i continue the text that row parents[i] held; rows may be duplicated and dropped.
  virtual void reorder(std::span<const int32_t> parents) = 0;
  // Forgets what a row was fed; the next token that it is fed is at its first position.
  virtual void clear(int32_t row) = 0;
};

// The batch of inputs that a new model decodes.
struct DecodingBatch {
  std::span<const int64_t> sentences;  // indices into the inputs, in the order in which they are admitted
  int64_t max_sentences = 0;           // sentences alive at once
  int64_t max_rows = 0;                // rows alive at once
  int64_t capacity = 0;                // positions that a row may come to hold; a model may have fewer: max_length()
};
using ModelFactory = std::function<std::unique_ptr<NextTokenModel>(const DecodingBatch&)>;

}  // namespace weft
