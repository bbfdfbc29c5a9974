// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/hugging_face_steps.h"

#include <algorithm>

#include "base/error.h"
#include "data/tokenizer/pretokenizer.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {
namespace {

constexpr const char* kRepresented =
    "weft has byte-level BPE as GPT-2, Llama 3, Qwen and SmolLM use it, BPE of characters as Llama 2 does, and unigram "
    "models as T5 and XLM-RoBERTa have them";

}  // namespace

void refuse_member(const std::string& at, const TokenizerJson& value) {
  throw DataError(fmt::format("{}: {} cannot be represented", at, json_excerpt(value)), kRepresented);
}

void check_unused(const TokenizerJson& object, const char* name, const std::string& where,
                  std::initializer_list<TokenizerJson> nothing) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return;
  if (std::find(nothing.begin(), nothing.end(), *found) == nothing.end()) refuse_member(where + ": " + name, *found);
}

std::string text_member(const TokenizerJson& object, const char* name, const std::string& where) {
  return json_name(json_member(object, name, where), where + ": " + name);
}

bool is_blank_sign(const TokenizerJson& step, const char* member) {
  return step.contains(member) && step[member] == kBlankSign;
}

std::vector<TokenizerJson> steps_of(const TokenizerJson& json, const char* member, const char* list,
                                    const std::string& where) {
  const std::string at = fmt::format("{}: {}", where, member);
  const auto found = json.find(member);
  if (found == json.end() || found->is_null()) return {};
  if (!found->is_object()) refuse_member(at, *found);
  if (text_member(*found, "type", at) != "Sequence") return {*found};
  const TokenizerJson& steps = json_list(json_member(*found, list, at), fmt::format("{}: {}", at, list));
  return {steps.begin(), steps.end()};
}

std::optional<NormalForm> normal_form_of_step(const TokenizerJson& step, const std::string& at) {
  if (!step.is_object()) refuse_member(at, step);
  const std::string type = text_member(step, "type", at);
  for (const auto& [name, form] : EnumNames<NormalForm>::kNames) {
    if (type == name) return form;
  }
  return {};
}

BlankRule read_metaspace(const TokenizerJson& step, const std::string& at) {
  if (!is_blank_sign(step, "replacement")) refuse_member(at, step);
  BlankRule rule;
  const bool prepends = step.value("add_prefix_space", TokenizerJson(true)) == true;
  const TokenizerJson scheme = step.value("prepend_scheme", TokenizerJson(prepends ? "always" : "never"));
  if (scheme == "always")
    rule.prefix = BlankPrefix::IfMissing;
  else if (scheme == "first")
    rule.prefix = BlankPrefix::IfMissingAtBegin;
  else if (scheme != "never")
    refuse_member(at + ": prepend_scheme", scheme);
  rule.cuts = step.value("split", TokenizerJson(true)) == true;
  return rule;
}

namespace {

// Whether a ByteLevel pre-tokenizer splits by GPT-2's expression. DataError if it puts a space before a text.
bool splits_as_gpt2(const TokenizerJson& step, const std::string& at) {
  check_unused(step, "add_prefix_space", at, {false});
  const auto regex = step.find("use_regex");
  return regex == step.end() || *regex != false;
}

std::string pattern_of_split(const TokenizerJson& split, const std::string& at) {
  check_unused(split, "invert", at, {false});
  const TokenizerJson& behavior = json_member(split, "behavior", at);
  if (behavior != "Isolated") refuse_member(at + ": behavior", behavior);
  const TokenizerJson& pattern = json_member(split, "pattern", at);
  if (!pattern.is_object() || !pattern.contains("Regex")) refuse_member(at + ": pattern", pattern);
  const std::string expression = text_member(pattern, "Regex", at + ": pattern");
  try {
    return Pretokenizer(expression).pattern();
  } catch (const ConfigError& error) {  // the expression does not compile
    throw DataError(fmt::format("{}: pattern: {}", at, error.what()), error.hint());
  }
}

// The patterns by which a step cuts the pieces of the one before it: none or one.
std::vector<std::string> patterns_of_step(const TokenizerJson& step, const std::string& at) {
  if (!step.is_object()) refuse_member(at, step);
  const std::string type = text_member(step, "type", at);
  if (type == "ByteLevel" && splits_as_gpt2(step, at)) return {"gpt2"};
  if (type == "ByteLevel") return {};
  if (type == "Split") return {pattern_of_split(step, at)};
  if (type != "Digits") refuse_member(at, step);
  const auto alone = step.find("individual_digits");
  return {alone != step.end() && *alone == true ? R"(\p{N})" : R"(\p{N}+)"};
}

// The patterns of a pre-tokenizer that ends in a ByteLevel step, in their order.
std::vector<std::string> patterns_of(const TokenizerJson& json, const std::string& where) {
  const std::string at = where + ": pre_tokenizer";
  const TokenizerJson& pre = json_member(json, "pre_tokenizer", where);
  const std::vector<TokenizerJson> steps = steps_of(json, "pre_tokenizer", "pretokenizers", where);
  std::vector<std::string> patterns;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool is_last = i + 1 == steps.size();
    const bool is_bytes = steps[i].is_object() && steps[i].contains("type") && steps[i]["type"] == "ByteLevel";
    if (is_last != is_bytes) refuse_member(at, pre);
    for (std::string& pattern : patterns_of_step(steps[i], at)) patterns.push_back(std::move(pattern));
  }
  if (steps.empty()) refuse_member(at, pre);
  if (patterns.empty()) patterns.emplace_back("none");
  return patterns;
}

std::optional<NormalForm> normal_form_of(const TokenizerJson& json, const std::string& where) {
  const std::string at = where + ": normalizer";
  std::optional<NormalForm> form;
  for (const TokenizerJson& step : steps_of(json, "normalizer", "normalizers", where)) {
    const auto one = normal_form_of_step(step, at);
    if (!one || form) refuse_member(at, step);
    form = one;
  }
  return form;
}

// The tokens that a template puts around a text. `single` is a list of tokens and the text.
TokensAround tokens_of_template(const TokenizerJson& single, const std::string& at) {
  TokensAround around;
  bool is_behind = false;
  for (const TokenizerJson& piece : single) {
    const bool is_text = piece.is_object() && piece.contains("Sequence");
    const bool is_token = piece.is_object() && piece.contains("SpecialToken");
    std::string& token = is_behind ? around.behind : around.before;
    if (is_text ? is_behind : !is_token || !token.empty()) refuse_member(at, piece);
    if (is_text)
      is_behind = true;
    else
      token = text_member(piece["SpecialToken"], "id", at);
  }
  if (!is_behind) refuse_member(at, single);
  return around;
}

TokensAround tokens_around(const TokenizerJson& processor, const std::string& at) {
  if (!processor.is_object()) refuse_member(at, processor);
  const std::string type = text_member(processor, "type", at);
  if (type == "ByteLevel") return {};  // it changes offsets only
  if (type == "Sequence") {
    TokensAround around;
    for (const TokenizerJson& step : json_list(json_member(processor, "processors", at), at + ": processors")) {
      const TokensAround tokens = tokens_around(step, at);
      const bool twice =
          (!around.before.empty() && !tokens.before.empty()) || (!around.behind.empty() && !tokens.behind.empty());
      if (twice) refuse_member(at, processor);
      around.before += tokens.before, around.behind += tokens.behind;
    }
    return around;
  }
  const auto single = processor.find("single");
  if (type != "TemplateProcessing" || single == processor.end() || !single->is_array()) refuse_member(at, processor);
  return tokens_of_template(*single, at + ": single");
}

}  // namespace

VisibleRule byte_rule(const TokenizerJson& json, const std::string& where) {
  VisibleRule rule{
      .normal_form = normal_form_of(json, where), .first_patterns = patterns_of(json, where), .pattern = {}};
  rule.pattern = std::move(rule.first_patterns.back());
  rule.first_patterns.pop_back();
  return rule;
}

CharacterRule character_rule(const TokenizerJson& json, const std::string& where) {
  CharacterRule rule;
  bool writes_blanks = false;
  const std::string at = where + ": normalizer";
  for (const TokenizerJson& step : steps_of(json, "normalizer", "normalizers", where)) {
    const auto form = normal_form_of_step(step, at);
    const std::string type = text_member(step, "type", at);
    if (form && !rule.normal_form) {
      rule.normal_form = form;
    } else if (type == "Prepend" && is_blank_sign(step, "prepend") && rule.prefix == BlankPrefix::Never) {
      rule.prefix = BlankPrefix::Always;
    } else if (type == "Replace" && is_blank_sign(step, "content") && step.contains("pattern") &&
               step["pattern"] == TokenizerJson{{"String", " "}}) {
      writes_blanks = true;
    } else {
      refuse_member(at, step);
    }
  }
  const std::string at_pre = where + ": pre_tokenizer";
  const auto pre = json.find("pre_tokenizer");
  const bool has_pre = pre != json.end() && !pre->is_null();
  if (has_pre && !pre->is_object()) refuse_member(at_pre, *pre);
  if (has_pre && text_member(*pre, "type", at_pre) == "Metaspace") {
    const BlankRule blanks = read_metaspace(*pre, at_pre);
    if (rule.prefix != BlankPrefix::Never) refuse_member(at_pre, *pre);
    rule.prefix = blanks.prefix;
    rule.cuts_at_blanks = blanks.cuts;
    writes_blanks = true;
  } else if (has_pre) {
    // Where the normalizer has left no blank, a split at blanks does nothing.
    const bool splits_blanks = pre->contains("pattern") && (*pre)["pattern"] == TokenizerJson{{"String", " "}};
    if (text_member(*pre, "type", at_pre) != "Split" || !splits_blanks || !writes_blanks) refuse_member(at_pre, *pre);
  }
  if (!writes_blanks) {
    throw DataError(where + ": neither its normalizer nor its pre_tokenizer writes blanks as U+2581", kRepresented);
  }
  return rule;
}

TokensAround tokens_around_texts(const TokenizerJson& json, const std::string& where) {
  const auto post = json.find("post_processor");
  return post == json.end() || post->is_null() ? TokensAround() : tokens_around(*post, where + ": post_processor");
}

}  // namespace weft
