// SPDX-License-Identifier: Apache-2.0
#include "data/chat/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/tokenizer/special_search.h"
#include "data/tokenizer/written.h"

namespace weft {
namespace {

// Gathers what stands between two specials, of whatever pieces, since tokens may span their borders.
class Gathering {
 public:
  explicit Gathering(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void text(std::string_view text, bool learnt) {
    if (text.empty()) return;
    if (kinds_.empty() || kinds_.back().learnt != learnt) kinds_.push_back({text_.size(), learnt});
    text_ += text;
    (learnt ? chat_.learnt_text : chat_.other_text) += text.size();
  }
  void special(int32_t id, bool learnt) {
    flush();
    push(id, learnt);
  }
  EncodedChat take() {
    flush();
    return std::move(chat_);
  }

 private:
  struct Kind {
    size_t begin;  // byte of text_
    bool learnt;
  };

  std::vector<int32_t> ids_of(std::string_view text) const {
    return tokenizer_.encode(text, {.continues = !chat_.ids.empty()});
  }

  // The ids of the text, of which a kind begins with the first that the text before it does not have.
  void flush() {
    const std::vector<int32_t> ids = ids_of(text_);
    size_t begin = 0;
    for (size_t k = 0; k < kinds_.size(); ++k) {
      size_t end = ids.size();
      if (k + 1 < kinds_.size()) {
        const std::vector<int32_t> before = ids_of(std::string_view(text_).substr(0, kinds_[k + 1].begin));
        const auto differs = std::ranges::mismatch(ids, before).in1;
        end = std::max(begin, static_cast<size_t>(differs - ids.begin()));
      }
      for (; begin < end; ++begin) push(ids[begin], kinds_[k].learnt);
    }
    text_.clear(), kinds_.clear();
  }

  void push(int32_t id, bool learnt) {
    const bool counts = learnt && !chat_.ids.empty();
    const bool last_is_learnt = chat_.turns.size() % 2 == 0;  // without a turn: the first is context
    if (chat_.turns.empty() || counts != last_is_learnt) chat_.turns.push_back(0);
    ++chat_.turns.back();
    chat_.ids.push_back(id);
  }

  const Tokenizer& tokenizer_;
  std::string text_;
  std::vector<Kind> kinds_;
  EncodedChat chat_;
};

// `all`: everything is learnt, and not only up to the special that ends an answer.
EncodedChat encoded(const std::vector<ChatPiece>& pieces, const Tokenizer& tokenizer, bool all) {
  Gathering gathering(tokenizer);
  for (const ChatPiece& piece : pieces) {
    const std::string_view text = piece.text;
    size_t from = 0;
    bool learnt = piece.learnt;
    if (piece.is_form) {
      SpecialSearch search(tokenizer.specials(), text, true);
      for (auto found = search.next(0); found.token != nullptr; found = search.next(from)) {
        gathering.text(text.substr(from, found.at - from), learnt);
        gathering.special(found.token->id, learnt);
        learnt = learnt && all;
        from = found.at + found.token->name.size();
      }
    }
    gathering.text(text.substr(from), learnt);
  }
  return gathering.take();
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

ChatEncoder::ChatEncoder(const ChatConfig& config, TokenizerPtr tokenizer)
    : template_(ChatTemplate::of(config)), loss_(config.loss), tokenizer_(std::move(tokenizer)) {
  for (const std::string& name : template_.needs) {
    if (tokenizer_->special(name)) continue;
    throw ConfigError(fmt::format("data.chat: template {} needs the special \"{}\", which the tokenizer has not",
                                  enum_name(config.name), name),
                      "name it in tokenizer.specials, or choose the template that the model was trained with");
  }
  fill_in(template_.begin);
  for (ChatForm* form : {&template_.system, &template_.user, &template_.assistant}) {
    fill_in(form->before), fill_in(form->after);
  }
  const SpecialToken* end = SpecialSearch(tokenizer_->specials(), template_.assistant.after, true).next(0).token;
  if (end == nullptr) {
    throw ConfigError("data.chat.assistant_form has no special behind {text}, so that an answer would have no end",
                      "put {eos} there, or the name of another special of the tokenizer");
  }
  end_of_answer_ = end->id;
}

// Puts names of specials for {bos} and {eos}.
void ChatEncoder::fill_in(std::string& form) const {
  for (const auto& [mark, role] : {std::pair{"{bos}", SpecialRole::Bos}, std::pair{"{eos}", SpecialRole::Eos}}) {
    if (form.find(mark) == std::string::npos) continue;
    const auto name = special_name(*tokenizer_, role);
    if (!name) {
      throw ConfigError(fmt::format("data.chat: the template has {}, and the tokenizer has no such special", mark),
                        "set the tokenizer's `bos` and `eos`");
    }
    replace_all(form, mark, *name);
  }
}

EncodedChat ChatEncoder::encode(const Conversation& conversation) const {
  return encoded(template_.render(conversation, loss_), *tokenizer_, loss_ == ChatLoss::All);
}

std::vector<int32_t> ChatEncoder::prompt(const Conversation& conversation) const {
  return encoded(template_.render_prompt(conversation), *tokenizer_, false).ids;
}

}  // namespace weft
