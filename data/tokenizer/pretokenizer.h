// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {

class Regex;

// Splits text into the pretokens that a tokenizer works within: by the pattern of GPT-2, GPT-4, o200k or Qwen 2, or
// into digits and what is between them (with a scanner for each), by a regular expression that the user gives (PCRE2),
// into whitespace-separated words or characters, or not at all.
class Pretokenizer {
 public:
  enum class Rule { Gpt2, Gpt4, Gpt4Classic, O200k, Qwen2, Digits, Blanks, BlankRuns, None, Words, Chars, Custom };

  // Names: gpt2, gpt4 (as tiktoken has it today), gpt4-classic (as first published: it differs in white space that ends
  // a text), o200k, blanks (before each blank or U+2581), blank-runs (before each run of these), none. The regular
  // expressions that these names stand for are accepted too. Other text is compiled: ConfigError if it is not a regular
  // expression.
  explicit Pretokenizer(const std::string& pattern);
  explicit Pretokenizer(Rule rule);  // one that has a name

  Rule rule() const { return rule_; }
  const std::string& pattern() const { return pattern_; }  // the name if it has one, else the expression
  // The pattern as a regular expression that Oniguruma reads too; a custom expression is unchanged.
  std::string portable_expression() const;

  // Calls sink(pretoken) in the order of the text. All bytes are covered but the white space between words; text that a
  // custom expression does not match is a pretoken too, up to the next match. Bytes that are not valid UTF-8 are
  // characters of no class for the built-in patterns; for a custom expression each of them is a pretoken, and the text
  // ends before it.
  template <class Sink>
  void for_each(std::string_view text, Sink&& sink) const;

  // A place at or after `from` where the parts of the split text have the pretokens of the whole, or text.size().
  size_t safe_split(std::string_view text, size_t from) const;

 private:
  void match_all(std::string_view text, std::vector<std::string_view>& pretokens) const;

  Rule rule_;
  std::string pattern_;
  std::shared_ptr<const Regex> regex_;
};

template <class Sink, class Next>
void scan_pretokens(std::string_view text, Sink&& sink, Next&& next) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const char* after = next(p, end);
    sink(std::string_view(p, static_cast<size_t>(after - p)));
    p = after;
  }
}

template <class Sink>
void Pretokenizer::for_each(std::string_view text, Sink&& sink) const {
  switch (rule_) {
    case Rule::Gpt2:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_gpt2(p, end); });
    case Rule::Gpt4:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_gpt4<true>(p, end); });
    case Rule::Gpt4Classic:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_gpt4<false>(p, end); });
    case Rule::O200k:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_o200k(p, end); });
    case Rule::Qwen2:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_gpt4<false, 1>(p, end); });
    case Rule::Digits:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_digit_or_text(p, end); });
    case Rule::Blanks:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_behind_blanks<true>(p, end); });
    case Rule::BlankRuns:
      return scan_pretokens(text, sink, [](auto p, auto end) { return next_behind_blanks<false>(p, end); });
    case Rule::Chars:
      return scan_pretokens(text, sink, [](auto p, auto end) { return p + utf8_at(p, end).length; });
    case Rule::None:
      if (!text.empty()) sink(text);
      return;
    case Rule::Words: {
      const char* end = text.data() + text.size();
      for (const char* p = skip_run(text.data(), end, CharClass::Space); p < end;) {
        const char* word = p;
        for (ScannedChar c; p < end && (c = scan_char(p, end)).kind != CharClass::Space;) p += c.length;
        sink(std::string_view(word, static_cast<size_t>(p - word)));
        p = skip_run(p, end, CharClass::Space);
      }
      return;
    }
    case Rule::Custom: {
      std::vector<std::string_view> pretokens;
      match_all(text, pretokens);
      for (std::string_view pretoken : pretokens) sink(pretoken);
      return;
    }
  }
}

}  // namespace weft
