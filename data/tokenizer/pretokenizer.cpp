// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/pretokenizer.h"

#include <array>
#include <utility>

#include "base/text/valid_utf8.h"
#include "data/tokenizer/pretokenizer_regex.h"

namespace weft {

namespace {

using Rule = Pretokenizer::Rule;

constexpr auto kNames = std::to_array<std::pair<std::string_view, Rule>>({
    {"gpt2", Rule::Gpt2},
    {"gpt4", Rule::Gpt4},
    {"gpt4-classic", Rule::Gpt4Classic},
    {"o200k", Rule::O200k},
    {"blanks", Rule::Blanks},
    {"blank-runs", Rule::BlankRuns},
    {"none", Rule::None},
    {"words", Rule::Words},
    {"chars", Rule::Chars},
});

// The published expressions that are equal to the scanners. The last of each rule has neither possessive quantifiers
// nor `$`, which Oniguruma (Hugging Face's tokenizers) reads differently.
constexpr auto kExpressions = std::to_array<std::pair<std::string_view, Rule>>({
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Rule::Gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Rule::Gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)", Rule::Gpt2},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Rule::Gpt2},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
     Rule::Gpt4},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\z|\s*[\r\n]|\s+(?!\S)|\s)",
     Rule::Gpt4},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     Rule::Gpt4Classic},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Rule::Gpt4Classic},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Rule::O200k},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Rule::Qwen2},
    {R"(\p{N})", Rule::Digits},
});

template <class Table>
const std::pair<std::string_view, Rule>* find(const Table& table, std::string_view key) {
  for (const auto& entry : table) {
    if (entry.first == key) return &entry;
  }
  return nullptr;
}

// Empty if the rule has no name: then its expression stands for it. So it is with rules that came later, whose
// expressions were custom ones before: hashes of tokenizers go by what stands for a rule.
std::string_view name_of(Rule rule) {
  for (const auto& [name, r] : kNames) {
    if (r == rule) return name;
  }
  return {};
}

bool is_ascii_word_end(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x80 && kAsciiClass[byte] != CharClass::Space;
}

}  // namespace

Pretokenizer::Pretokenizer(const std::string& pattern) {
  const auto* named = find(kNames, pattern);
  if (named == nullptr) named = find(kExpressions, pattern);
  if (named != nullptr && named->second != Rule::Words && named->second != Rule::Chars) {
    rule_ = named->second;
    pattern_ = name_of(rule_).empty() ? pattern : name_of(rule_);
    return;
  }
  rule_ = Rule::Custom;
  pattern_ = pattern;
  regex_ = std::make_shared<const Regex>(pattern);
}

std::string Pretokenizer::portable_expression() const {
  std::string expression = pattern_;
  for (const auto& [text, rule] : kExpressions) {
    if (rule == rule_) expression = text;
  }
  return expression;
}

Pretokenizer::Pretokenizer(Rule rule) : rule_(rule), pattern_(name_of(rule)) {
  require<InternalError>(!pattern_.empty(), "Pretokenizer: a rule without a name needs its expression");
}

void Pretokenizer::match_all(std::string_view text, std::vector<std::string_view>& pretokens) const {
  for_each_valid_part(
      text, [&](std::string_view valid) { regex_->split(valid, pretokens); },
      [&](std::string_view byte) { pretokens.push_back(byte); });
}

size_t Pretokenizer::safe_split(std::string_view text, size_t from) const {
  if (rule_ == Rule::None || rule_ == Rule::Digits || rule_ == Rule::Custom) return text.size();
  // No pretoken of the built-in patterns continues from a character that is not white space into a space, and none
  // depends on the text before its beginning.
  for (size_t i = from < 1 ? 1 : from; i < text.size(); ++i) {
    if (text[i] == ' ' && is_ascii_word_end(text[i - 1])) return i;
  }
  return text.size();
}

}  // namespace weft
