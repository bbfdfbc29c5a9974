// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "data/chat/encoder.h"
#include "generate/text_generator.h"

namespace weft {

// A conversation with a language model, which remembers what was said. Where it no longer fits into the model's
// positions, its oldest messages are forgotten, a question with its answers at a time; the system's text stays.
class Chat {
 public:
  // ConfigError if the template does not fit the model's tokenizer. `generator` must outlive the chat.
  Chat(const TextGenerator& generator, const ChatConfig& form, const SearchConfig& search);

  using Listener = std::function<void(std::string_view)>;
  // Adds what the user says, and the model's answer, which is returned; `grown` gets each piece of it as soon as it can
  // be shown (generate/text_stream.h), but for a beam search the whole. If the model cannot answer (DataError: the
  // message alone is longer than the model's positions), nothing is added.
  std::string say(const std::string& text, const Listener& grown = {});
  // The model's answer to a conversation, which ends with the user.
  std::string answer(Conversation conversation, const Listener& grown = {});

  void begin_anew() { said_.clear(); }              // forgets what was said
  int64_t forgotten() const { return forgotten_; }  // messages, since the beginning

 private:
  std::vector<int32_t> fitting_prompt(Conversation& conversation);
  std::string continue_prompt(std::vector<int32_t> prompt, const Listener& grown);

  const TextGenerator& generator_;
  ChatEncoder encoder_;
  SearchConfig search_;
  Conversation said_;
  int64_t answers_ = 0, forgotten_ = 0;
};

}  // namespace weft
