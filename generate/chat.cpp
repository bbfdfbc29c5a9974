// SPDX-License-Identifier: Apache-2.0
#include "generate/chat.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "generate/text_stream.h"

namespace weft {
namespace {

// A model has to have room for an answer, if only for a short one.
constexpr int64_t kLeastAnswer = 16;  // tokens

// The messages from the first question to the second, which are forgotten together; none if there is one question.
std::pair<size_t, size_t> oldest_exchange(const Conversation& conversation) {
  const auto is_question = [](const ChatMessage& message) { return message.role == ChatRole::User; };
  const auto first = std::ranges::find_if(conversation, is_question);
  if (first == conversation.end()) return {0, 0};
  const auto second = std::find_if(first + 1, conversation.end(), is_question);
  if (second == conversation.end()) return {0, 0};
  return {first - conversation.begin(), second - conversation.begin()};
}

}  // namespace

Chat::Chat(const TextGenerator& generator, const ChatConfig& form, const SearchConfig& search)
    : generator_(generator),
      encoder_(form, std::shared_ptr<const Tokenizer>(std::shared_ptr<void>(), &generator.target_tokenizer)),
      search_(search) {}

std::vector<int32_t> Chat::fitting_prompt(Conversation& conversation) {
  const int64_t positions = generator_.job.model.max_length;
  const int64_t room = std::min(kLeastAnswer, positions / 2);
  for (;;) {
    std::vector<int32_t> prompt = encoder_.prompt(conversation);
    if (std::ssize(prompt) + room <= positions) return prompt;
    const auto [begin, end] = oldest_exchange(conversation);
    if (end == 0) {
      throw DataError(
          fmt::format("the message has {} tokens with what stands around it, and the model {} positions, of "
                      "which an answer needs {}",
                      prompt.size(), positions, room),
          "say it in fewer words");
    }
    conversation.erase(conversation.begin() + static_cast<ptrdiff_t>(begin),
                       conversation.begin() + static_cast<ptrdiff_t>(end));
    forgotten_ += static_cast<int64_t>(end - begin);
  }
}

std::string Chat::continue_prompt(std::vector<int32_t> prompt, const Listener& grown) {
  TextStream stream(generator_.target_tokenizer, search_.stop_strings);
  const std::string& lead = encoder_.lead();
  bool begun = false;
  const auto show = [&](const std::string& piece) {
    const size_t skipped = !begun && piece.starts_with(lead) ? lead.size() : 0;
    begun = begun || !piece.empty();
    if (piece.size() > skipped) grown(std::string_view(piece).substr(skipped));
  };
  SearchListener listener;
  if (grown) listener.grown = [&](int64_t, std::span<const int32_t> tokens) { show(stream.grow(tokens)); };
  const Hypothesis found =
      generator_.continue_tokens(std::move(prompt), encoder_.end_of_answer(), search_, listener, answers_++);
  const std::string text = generator_.text(found, search_.stop_strings);
  if (grown) show(stream.finish(text));
  return text.starts_with(lead) ? text.substr(lead.size()) : text;
}

std::string Chat::answer(Conversation conversation, const Listener& grown) {
  return continue_prompt(fitting_prompt(conversation), grown);
}

std::string Chat::say(const std::string& text, const Listener& grown) {
  Conversation asked = said_;
  asked.push_back({.role = ChatRole::User, .text = text});
  std::string answer = continue_prompt(fitting_prompt(asked), grown);
  said_ = std::move(asked);  // what was forgotten stays forgotten
  said_.push_back({.role = ChatRole::Assistant, .text = answer});
  return answer;
}

}  // namespace weft
