// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/pretokenizer_regex.h"

#include <array>

#include "base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace weft {

namespace {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* p) const {
    kFree(p);
  }
};
using Code = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Free<pcre2_jit_stack_free>>;

constexpr size_t kJitStackStart = 32 << 10;
constexpr size_t kJitStackMost = 8 << 20;  // a run of `(...)+` keeps a frame for each repetition

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Compiled {
  Code code;
};

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!code) {
    throw ConfigError(fmt::format("tokenizer: pattern \"{}\": {} at byte {}", pattern, message_of(error), offset),
                      "use gpt2, gpt4, o200k, none or a regular expression that PCRE2 knows");
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // if that fails, the pattern is interpreted
  compiled_ = std::make_unique<const Compiled>(Compiled{std::move(code)});
}

Regex::~Regex() = default;

void Regex::split(std::string_view text, std::vector<std::string_view>& pretokens) const {
  if (text.empty()) return;
  const MatchData match(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  const JitStack stack(pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr));
  pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t covered = 0;  // the text before this place is in pretokens
  for (size_t from = 0; from < text.size();) {
    // The caller has checked the UTF-8, once; PCRE2 would check all of it again at each call.
    const int found = pcre2_match(compiled_->code.get(), subject, text.size(), from,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      throw DataError(fmt::format("tokenizer: pattern \"{}\" at byte {} of a text of {} bytes: {}", pattern_, from,
                                  text.size(), message_of(found)),
                      "a pattern without nested repeats needs fewer steps");
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.get());
    // \K can put the beginning of a match before text that is already cut, or after its end.
    const size_t begin = std::max(range[0], covered);
    const size_t end = range[1];
    if (end <= begin) {
      from = std::max(end, from + 1);
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
      continue;
    }
    if (begin > covered) pretokens.push_back(text.substr(covered, begin - covered));
    pretokens.push_back(text.substr(begin, end - begin));
    covered = from = end;
  }
  if (covered < text.size()) pretokens.push_back(text.substr(covered));
}

}  // namespace weft
