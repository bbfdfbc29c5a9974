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
constexpr uint32_t kHeapKibibytes = 64 << 10;

// PCRE2 counts the steps from each place where a match may begin. A step may look at all that follows, and a pattern
// such as `a*a*b|.` takes as many from every byte of a long run: hours for a megabyte, with no single match beyond any
// limit. So matches with more than the usual steps, which belong to long runs, are counted in proportion to the text.
constexpr uint32_t kUsualSteps = 1000;
constexpr uint32_t kMostSteps = 1'000'000;
constexpr size_t kSlowMatches = 32;          // in any text
constexpr size_t kBytesForASlowMatch = 250;  // for each one more; a usual pattern takes up to four steps a byte
constexpr size_t kPlaces = 256;              // bytes at which a match may begin, for one call

constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Compiled {
  Code code;
};

namespace {

// Looks for matches in one text, with a limited number of slow ones.
class Search {
 public:
  Search(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        match_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr)),
        slow_left_(kSlowMatches + text.size() / kBytesForASlowMatch) {
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
    pcre2_set_heap_limit(context_.get(), kHeapKibibytes);
  }

  // PCRE2's result for a match that begins within tried() bytes of `from`. PCRE2 does not say where a match has taken
  // long, so fewer places are tried until there is one.
  int next(size_t from) {
    for (tried_ = places_;; tried_ /= 2) {
      const int found = match(from, kUsualSteps);
      if (found != PCRE2_ERROR_MATCHLIMIT) {
        places_ = std::min(2 * tried_, kPlaces);
        return found;
      }
      if (tried_ == 1) break;
    }
    places_ = 1;
    if (slow_left_ == 0) return PCRE2_ERROR_MATCHLIMIT;
    --slow_left_;
    return match(from, kMostSteps);
  }
  size_t tried() const { return tried_; }

  const PCRE2_SIZE* range() const { return pcre2_get_ovector_pointer(match_.get()); }

 private:
  // The caller of split() has checked the UTF-8, once; PCRE2 would check all of it again at each call.
  int match(size_t from, uint32_t steps) {
    pcre2_set_match_limit(context_.get(), steps);
    pcre2_set_offset_limit(context_.get(), from + tried_ - 1);
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                       PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match_.get(), context_.get());
  }

  const pcre2_code* code_;
  std::string_view text_;
  MatchData match_;
  MatchContext context_;
  JitStack stack_;
  size_t slow_left_;
  size_t places_ = kPlaces, tried_ = kPlaces;
};

// The first character of `text` that begins at `from` or later.
size_t character_from(std::string_view text, size_t from) {
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  return from;
}

}  // namespace

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), kOptions, &error, &offset, nullptr));
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
  Search search(compiled_->code.get(), text);
  size_t covered = 0;  // the text before this place is in pretokens
  for (size_t from = 0; from < text.size();) {
    const int found = search.next(from);
    if (found == PCRE2_ERROR_NOMATCH) {
      from = character_from(text, from + search.tried());
      continue;
    }
    if (found < 0) {
      throw DataError(fmt::format("tokenizer: pattern \"{}\" at byte {} of a text of {} bytes: {}", pattern_, from,
                                  text.size(), message_of(found)),
                      "a pattern without nested or adjacent repeats of the same characters needs fewer steps");
    }
    const PCRE2_SIZE* range = search.range();
    // \K can put the beginning of a match before text that is already cut, or after its end.
    const size_t begin = std::max(range[0], covered);
    const size_t end = range[1];
    if (end <= begin) {
      from = character_from(text, std::max(end, from + 1));
      continue;
    }
    if (begin > covered) pretokens.push_back(text.substr(covered, begin - covered));
    pretokens.push_back(text.substr(begin, end - begin));
    covered = from = end;
  }
  if (covered < text.size()) pretokens.push_back(text.substr(covered));
}

}  // namespace weft
