// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unigram/text_rule.h"

#include <algorithm>

#include "base/text/valid_utf8.h"
#include "data/tokenizer/pretokenizer_scan.h"
#include "data/tokenizer/unigram/tokenizers_unicode.h"

namespace weft {
namespace {

constexpr size_t kMostClusterBytes = 5;

void append_mapped(const CharsMap& map, std::string_view valid, std::string& mapped) {
  for (size_t at = 0; at < valid.size();) {
    const std::string_view cluster = valid.substr(at, grapheme_size(valid.substr(at)));
    at += cluster.size();
    const auto whole = cluster.size() <= kMostClusterBytes ? map.find(cluster) : std::nullopt;
    if (whole) {
      mapped += *whole;
      continue;
    }
    for (const char *p = cluster.data(), *end = p + cluster.size(); p < end;) {
      const std::string_view one(p, utf8_at(p, end).length);
      mapped += map.find(one).value_or(one);
      p += one.size();
    }
  }
}

std::string mapped(const CharsMap& map, std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_valid_part(
      text, [&](std::string_view valid) { append_mapped(map, valid, result); },
      [&](std::string_view byte) { result += byte; });
  return result;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  for (size_t from = 0;;) {
    const size_t at = text.find(what, from);
    result += text.substr(from, at - from);
    if (at == std::string_view::npos) return result;
    result += by;
    from = at + what.size();
  }
}

std::string with_blank_runs_replaced(std::string_view text, std::string_view by) {
  std::string result;
  for (size_t from = 0;;) {
    const size_t at = text.find("  ", from);
    result += text.substr(from, at - from);
    if (at == std::string_view::npos) return result;
    result += by;
    from = std::min(text.find_first_not_of(' ', at), text.size());
  }
}

std::string_view stripped(std::string_view text, const StripSpace& sides) {
  if (sides.left) {
    const char* const end = text.data() + text.size();
    text.remove_prefix(static_cast<size_t>(skip_run(text.data(), end, CharClass::Space) - text.data()));
  }
  return sides.right ? text.substr(0, space_at_end(text)) : text;
}

struct ChangeText {
  std::string_view text;

  std::string operator()(const CharsMap& map) const { return mapped(map, text); }
  std::string operator()(const ReplaceText& step) const { return replaced(text, step.text, step.by); }
  std::string operator()(const ReplaceBlankRuns& step) const { return with_blank_runs_replaced(text, step.by); }
  std::string operator()(const StripSpace& step) const { return std::string(stripped(text, step)); }
  std::string operator()(const PutBefore& step) const { return text.empty() ? "" : step.text + std::string(text); }
  std::string operator()(const LowerCase&) const { return to_lower_each(text); }
  std::string operator()(const DropMarks&) const { return without_marks(text); }
  std::string operator()(NormalForm form) const { return to_older_normal_form(text, form); }
};

// The most bytes that a step may make of one byte.
struct GrowthOf {
  static double ratio(size_t by, size_t of) { return std::max(1.0, static_cast<double>(by) / static_cast<double>(of)); }

  double operator()(const CharsMap& map) const { return ratio(map.longest(), 1); }
  double operator()(const ReplaceText& step) const { return ratio(step.by.size(), step.text.size()); }
  double operator()(const ReplaceBlankRuns& step) const { return ratio(step.by.size(), 2); }
  double operator()(const PutBefore& step) const { return ratio(step.text.size() + 1, 1); }
  double operator()(const StripSpace&) const { return 1; }
  double operator()(const DropMarks&) const { return 1; }
  double operator()(const LowerCase&) const { return 1.5; }  // U+023A: two bytes become three
  double operator()(NormalForm) const { return 11; }         // U+FDFA: three bytes become 33
};

bool begins_with_blank(std::string_view text) {
  return !text.empty() && blank_at(text.data(), text.data() + text.size()) > 0;
}

}  // namespace

std::string TextRule::changed(std::string_view text) const {
  std::string changed(text);
  for (const TextStep& step : steps) changed = std::visit(ChangeText{changed}, step);
  return changed;
}

std::string TextRule::with_blank_signs(std::string_view text, bool begins) const {
  const bool may_put =
      blanks->prefix == BlankPrefix::IfMissing || (blanks->prefix == BlankPrefix::IfMissingAtBegin && begins);
  std::string written(may_put && !begins_with_blank(text) ? kBlankSign : "");
  return written += replaced(text, " ", kBlankSign);
}

double TextRule::most_growth() const {
  double growth = 1;
  for (const TextStep& step : steps) growth *= std::visit(GrowthOf{}, step);
  return growth;
}

bool TextRule::puts_blank() const {
  const auto puts_one = [](const TextStep& step) {
    const auto* before = std::get_if<PutBefore>(&step);
    return before != nullptr && begins_with_blank(before->text);
  };
  return (blanks && blanks->prefix != BlankPrefix::Never) || std::ranges::any_of(steps, puts_one);
}

}  // namespace weft
