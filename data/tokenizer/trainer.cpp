// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/trainer.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "data/tokenizer/bpe/learn.h"
#include "data/tokenizer/bpe/model.h"
#include "data/tokenizer/files.h"
#include "data/tokenizer/pretoken_counter.h"
#include "data/tokenizer/symbol_models.h"

namespace weft {

namespace {

bool learns_from_text(TokenizerKind kind) {
  return kind == TokenizerKind::Bpe || kind == TokenizerKind::Chars || kind == TokenizerKind::Words;
}

Pretokenizer pretokenizer_for(const TokenizerConfig& config) {
  if (config.kind == TokenizerKind::Chars) return Pretokenizer(Pretokenizer::Rule::Chars);
  if (config.kind == TokenizerKind::Words) return Pretokenizer(Pretokenizer::Rule::Words);
  if (config.kind == TokenizerKind::Bpe) return Pretokenizer(config.learnt_pattern());
  return Pretokenizer(Pretokenizer::Rule::None);
}

// Gives the missing specials of the configuration the ids from `id` on.
void add_specials(const TokenizerConfig& config, int64_t id, SpecialTokens& specials) {
  for (const std::string& name : config.specials) {
    const auto is_it = [&](const SpecialToken& token) { return token.name == name; };
    if (std::any_of(specials.tokens.begin(), specials.tokens.end(), is_it)) continue;
    specials.tokens.push_back({name, static_cast<int32_t>(id++)});
  }
}

void set_role(SpecialTokens& specials, SpecialRole role, const char* role_name, const std::string& name) {
  if (name.empty()) return;
  for (const SpecialToken& token : specials.tokens) {
    if (token.name == name) specials.roles[static_cast<size_t>(role)] = token.id;
  }
  if (specials.roles[static_cast<size_t>(role)].has_value()) return;
  throw ConfigError(fmt::format("tokenizer: {} is \"{}\", which is no special of the file", role_name, name),
                    "add it to the list of specials");
}

void set_roles(const TokenizerConfig& config, SpecialTokens& specials) {
  set_role(specials, SpecialRole::Bos, "bos", config.bos);
  set_role(specials, SpecialRole::Eos, "eos", config.eos);
  set_role(specials, SpecialRole::Pad, "pad", config.pad);
  set_role(specials, SpecialRole::Unk, "unk", config.unk);
}

BpeVocabulary learn_bpe(const TokenizerConfig& config, const std::vector<CountedPretoken>& pretokens) {
  BpeVocabulary vocabulary;
  vocabulary.pattern = config.learnt_pattern();
  for (int32_t b = 0; b < 256; ++b) vocabulary.byte_ids[static_cast<size_t>(b)] = b;
  const auto first_id = static_cast<int32_t>(256 + config.specials.size());
  const int64_t room = kMaxTokenId - first_id;
  const int64_t wanted = config.vocabulary > 0 ? config.vocabulary - first_id
                         : config.merges > 0   ? config.merges
                                               : room;
  vocabulary.merges = learn_merges({.pretokens = pretokens,
                                    .max_merges = std::min(wanted, room),
                                    .min_frequency = config.min_frequency,
                                    .first_id = first_id});
  return vocabulary;
}

ListModel::Symbols list_chars(std::vector<CountedPretoken> chars) {
  const auto order = [](const CountedPretoken& c) {
    return utf8_at(c.text.data(), c.text.data() + c.text.size()).code_point;
  };
  std::sort(chars.begin(), chars.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  ListModel::Symbols symbols;
  for (CountedPretoken& c : chars) symbols.emplace_back(std::move(c.text), static_cast<int32_t>(symbols.size()));
  return symbols;
}

// Adds up the words of one form, in the order of their first occurrence.
std::vector<CountedPretoken> unite_forms(std::vector<CountedPretoken> words, const WordForms& forms) {
  if (!forms.any()) return words;
  std::vector<CountedPretoken> united;
  std::unordered_map<std::string, size_t> places;
  for (const CountedPretoken& word : words) {
    std::string form = forms.of(word.text);
    if (form.empty()) continue;
    const auto [place, is_new] = places.emplace(form, united.size());
    if (is_new) united.push_back({std::move(form), 0});
    united[place->second].count += word.count;
  }
  return united;
}

ListModel::Symbols list_words(const TokenizerConfig& config, std::vector<CountedPretoken> words) {
  words = unite_forms(std::move(words), config.word_forms());
  std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  const size_t specials = config.specials.size();
  const auto most = static_cast<size_t>(config.vocabulary > 0 ? config.vocabulary : kMaxTokenId) - specials;
  ListModel::Symbols symbols;
  for (CountedPretoken& word : words) {
    if (word.count < config.min_frequency || symbols.size() == most) break;
    symbols.emplace_back(std::move(word.text), static_cast<int32_t>(specials + symbols.size()));
  }
  return symbols;
}

}  // namespace

class TokenizerTrainer::State {
 public:
  State(const TokenizerConfig& config, int threads)
      : config_(config),
        counter_(pretokenizer_for(config), threads,
                 config.kind == TokenizerKind::Chars ? 0 : static_cast<size_t>(config.max_pretokens)) {}

  const TokenizerConfig& config() const { return config_; }
  PretokenCounter& counter() { return counter_; }
  TokenizerParts make();

 private:
  TokenizerConfig config_;
  PretokenCounter counter_;
};

TokenizerParts TokenizerTrainer::State::make() {
  TokenizerParts parts;
  const std::string where = "tokenizer";
  switch (config_.kind) {
    case TokenizerKind::Gpt2:
      parts = read_gpt2(config_.vocab_file, config_.merges_file);
      break;
    case TokenizerKind::Tiktoken:
      parts = read_tiktoken(config_.ranks_file, config_.pattern);
      break;
    case TokenizerKind::HuggingFace:
      parts = read_hugging_face(config_.model_file);
      break;
    case TokenizerKind::SentencePiece:
      parts = read_sentencepiece(config_.model_file);
      break;
    case TokenizerKind::Bytes:
      parts.model = std::make_unique<const BytesModel>();
      break;
    case TokenizerKind::Bpe: {
      parts.model = std::make_unique<const BpeModel>(learn_bpe(config_, counter_.finish()), where);
      add_specials(config_, 256, parts.specials);
      return parts;
    }
    case TokenizerKind::Chars:
    case TokenizerKind::Words: {
      const bool chars = config_.kind == TokenizerKind::Chars;
      auto symbols = chars ? list_chars(counter_.finish()) : list_words(config_, counter_.finish());
      add_specials(config_, chars ? static_cast<int64_t>(symbols.size()) : 0, parts.specials);
      set_roles(config_, parts.specials);
      const auto unk = parts.specials.roles[static_cast<size_t>(SpecialRole::Unk)];
      parts.model = std::make_unique<const ListModel>(pretokenizer_for(config_).rule(), std::move(symbols), unk, where,
                                                      config_.word_forms());
      return parts;
    }
  }
  const int64_t own = parts.model->vocabulary();
  add_specials(config_,
               parts.specials.tokens.empty() ? own : std::max<int64_t>(own, parts.specials.tokens.back().id + 1),
               parts.specials);
  return parts;
}

TokenizerTrainer::TokenizerTrainer(const TokenizerConfig& config, int threads) {
  config.check();
  state_ = std::make_unique<State>(config, threads);
}

TokenizerTrainer::~TokenizerTrainer() = default;

bool TokenizerTrainer::needs_text() const { return learns_from_text(state_->config().kind); }

void TokenizerTrainer::add(std::string_view text) {
  if (needs_text()) state_->counter().add(text);
}

std::shared_ptr<const Tokenizer> TokenizerTrainer::finish() {
  require<InternalError>(state_ != nullptr, "TokenizerTrainer: finish() comes once");
  const std::unique_ptr<State> state = std::move(state_);
  require<DataError>(!learns_from_text(state->config().kind) || state->counter().bytes() > 0,
                     "tokenizer: no text to make a tokenizer of kind {} from", enum_name(state->config().kind));
  TokenizerParts parts = state->make();
  set_roles(state->config(), parts.specials);
  return std::make_shared<const Tokenizer>(std::move(parts.model), std::move(parts.specials));
}

}  // namespace weft
