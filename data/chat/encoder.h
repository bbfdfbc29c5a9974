// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "data/chat/template.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// A conversation as ids. `turns` are the lengths of its parts, which are context and learnt in turn: context, learnt,
// context, ... Their sum is the number of ids. The first is at least 1, since nothing predicts the first id; only the
// last part may be missing, so that the list may end with either kind. No other length is 0.
struct EncodedChat {
  std::vector<int32_t> ids;
  std::vector<int32_t> turns;
  size_t learnt_text = 0, other_text = 0;  // bytes of what is learnt, and of the rest
};

// Encodes conversations with a template. The ids are those of the whole text with the specials of the template in it,
// as apply_chat_template() gives them; only names of specials in what people say are text here, and not specials. A
// token of which a part belongs to the next piece is of that piece's kind. Immutable, thread-safe.
class ChatEncoder {
 public:
  // ConfigError if the tokenizer lacks a special that the template needs, or if no special ends an answer.
  ChatEncoder(const ChatConfig& config, TokenizerPtr tokenizer);

  // DataError as of ChatTemplate::render().
  EncodedChat encode(const Conversation& conversation) const;
  // The ids up to the place where the assistant's next message begins.
  std::vector<int32_t> prompt(const Conversation& conversation) const;
  // The special that ends an answer.
  int32_t end_of_answer() const { return end_of_answer_; }
  // What a generated answer begins with, and is not said: a blank, or nothing.
  const std::string& lead() const { return template_.lead; }

 private:
  void fill_in(std::string& form) const;

  ChatTemplate template_;
  ChatLoss loss_;
  TokenizerPtr tokenizer_;
  int32_t end_of_answer_ = 0;
};

}  // namespace weft
