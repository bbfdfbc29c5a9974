// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/json.h"

#include <bit>

#include "base/config/value_named.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/tokenizer/unigram/model.h"

namespace weft {
namespace {

// The sides that a step strips, in weft's own file.
enum class StrippedSides { Left, Right, Both };

}  // namespace

template <>
struct EnumNames<StrippedSides> {
  static constexpr auto kNames = enum_names<StrippedSides>("left", "right", "both");
};

namespace {

template <class E>
E named_value(const TokenizerJson& value, const std::string& at) {
  return value_named<E>(json_name(value, at), at);
}

std::string string_value(const TokenizerJson& value, const std::string& at) {
  if (!value.is_string()) refuse_json(value, "a string", at);
  return value.get<std::string>();
}

bool true_or_absent(const TokenizerJson& json, const char* name, const std::string& where) {
  if (!json.contains(name)) return false;
  if (json[name] != true) refuse_json(json[name], "true, or no such member", fmt::format("{}: {}", where, name));
  return true;
}

// A step has one member, whose name says what is done; of `replace` there is also `by`.
TextStep step_from_json(const TokenizerJson& json, const std::string& at) {
  json_only_members(
      json, {"charsmap", "replace", "by", "blank_runs", "strip", "before", "lowercase", "drop_marks", "normal_form"},
      at);
  require<DataError>(json.size() == (json.contains("replace") ? 2u : 1u), "{}: expected one step", at);
  if (json.contains("replace")) {
    return ReplaceText{.text = json_name(json["replace"], at + ": replace"),
                       .by = string_value(json_member(json, "by", at), at + ": by")};
  }
  const std::string name = json.begin().key();
  const TokenizerJson& value = json.begin().value();
  const std::string there = at + ": " + name;
  if (name == "charsmap") return CharsMap(bytes_from_json(value, there), there);
  if (name == "blank_runs") return ReplaceBlankRuns{.by = string_value(value, there)};
  if (name == "before") return PutBefore{.text = json_name(value, there)};
  if (name == "normal_form") return named_value<NormalForm>(value, there);
  if (name == "strip") {
    const auto sides = named_value<StrippedSides>(value, there);
    return StripSpace{.left = sides != StrippedSides::Right, .right = sides != StrippedSides::Left};
  }
  if (value != true) refuse_json(value, "true", there);
  if (name == "lowercase") return LowerCase{};
  require<DataError>(name == "drop_marks", "{}: `by` without `replace`", at);
  return DropMarks{};
}

struct StepToJson {
  TokenizerJson operator()(const CharsMap& map) const { return {{"charsmap", bytes_to_json(map.blob())}}; }
  TokenizerJson operator()(const ReplaceText& step) const { return {{"replace", step.text}, {"by", step.by}}; }
  TokenizerJson operator()(const ReplaceBlankRuns& step) const { return {{"blank_runs", step.by}}; }
  TokenizerJson operator()(const StripSpace& step) const {
    const auto sides = !step.left ? StrippedSides::Right : step.right ? StrippedSides::Both : StrippedSides::Left;
    return {{"strip", enum_name(sides)}};
  }
  TokenizerJson operator()(const PutBefore& step) const { return {{"before", step.text}}; }
  TokenizerJson operator()(const LowerCase&) const { return {{"lowercase", true}}; }
  TokenizerJson operator()(const DropMarks&) const { return {{"drop_marks", true}}; }
  TokenizerJson operator()(NormalForm form) const { return {{"normal_form", enum_name(form)}}; }
};

TextRule rule_from_json(const TokenizerJson& json, const std::string& where) {
  TextRule rule{.cuts_at_space = true_or_absent(json, "words", where)};
  if (json.contains("steps")) {
    const TokenizerJson& steps = json_list(json["steps"], where + ": steps");
    for (size_t i = 0; i < steps.size(); ++i) {
      rule.steps.push_back(step_from_json(steps[i], fmt::format("{}: steps[{}]", where, i)));
    }
  }
  if (!json.contains("blanks")) return rule;
  const std::string at = where + ": blanks";
  json_only_members(json["blanks"], {"prefix", "cut"}, at);
  rule.blanks =
      BlankRule{.prefix = named_value<BlankPrefix>(json_member(json["blanks"], "prefix", at), at + ": prefix"),
                .cuts = true_or_absent(json["blanks"], "cut", at)};
  if (rule.blanks->prefix == BlankPrefix::Always) {
    refuse_json(json["blanks"]["prefix"], "never, if-missing or if-missing-at-begin", at + ": prefix");
  }
  return rule;
}

TokenizerJson rule_to_json(const TextRule& rule) {
  TokenizerJson json = TokenizerJson::object();
  if (rule.cuts_at_space) json["words"] = true;
  for (const TextStep& step : rule.steps) json["steps"].push_back(std::visit(StepToJson{}, step));
  if (!rule.blanks) return json;
  json["blanks"]["prefix"] = enum_name(rule.blanks->prefix);
  if (rule.blanks->cuts) json["blanks"]["cut"] = true;
  return json;
}

}  // namespace

UnigramPiece piece_from_json(const TokenizerJson& json, size_t place, const std::string& where) {
  const bool two = json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_number();
  require<DataError>(two, "{}: pieces[{}]: expected [text, score], got {}", where, place, json_excerpt(json));
  return {.text = json[0].get<std::string>(), .score = json[1].get<double>()};
}

std::unique_ptr<const UnigramModel> UnigramModel::read_json(const TokenizerJson& json, const SpecialTokens& specials,
                                                            const std::string& where) {
  json_only_members(
      json, {"format", "version", "kind", "specials", "roles", "steps", "words", "blanks", "pieces", "byte_fallback"},
      where);
  UnigramVocabulary vocabulary{
      .rule = rule_from_json(json, where), .pieces = {}, .byte_fallback = true_or_absent(json, "byte_fallback", where)};
  const TokenizerJson& pieces = json_list(json_member(json, "pieces", where), where + ": pieces");
  vocabulary.pieces.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) vocabulary.pieces.push_back(piece_from_json(pieces[i], i, where));
  return std::make_unique<const UnigramModel>(std::move(vocabulary), specials, where);
}

void UnigramModel::write_json(TokenizerJson& json) const {
  json.update(rule_to_json(vocabulary_.rule));
  if (vocabulary_.byte_fallback) json["byte_fallback"] = true;
  TokenizerJson& pieces = json["pieces"] = TokenizerJson::array();
  for (const auto& [text, score] : vocabulary_.pieces) pieces.push_back(TokenizerJson::array({text, score}));
}

void UnigramModel::hash_into(Hasher& hasher) const {
  const auto add_text = [&](std::string_view text) {
    const uint64_t size = text.size();
    hasher.update(&size, sizeof(size));
    hasher.update(text.data(), text.size());
  };
  // The rule is hashed as its file has it: that text names each part.
  add_text(rule_to_json(vocabulary_.rule).dump());
  hasher.update(&vocabulary_.byte_fallback, sizeof(vocabulary_.byte_fallback));
  for (const auto& [text, score] : vocabulary_.pieces) {
    const auto bits = std::bit_cast<uint64_t>(score);
    add_text(text);
    hasher.update(&bits, sizeof(bits));
  }
}

}  // namespace weft
