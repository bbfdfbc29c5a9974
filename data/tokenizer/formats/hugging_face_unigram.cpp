// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/hugging_face_unigram.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/formats/base64.h"
#include "data/tokenizer/formats/hugging_face_added.h"
#include "data/tokenizer/formats/hugging_face_steps.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {
namespace {

bool option(const TokenizerJson& step, const char* name, const std::string& at) {
  const TokenizerJson& value = json_member(step, name, at);
  if (!value.is_boolean()) refuse_json(value, "true or false", at + ": " + name);
  return value;
}

CharsMap table_of(const TokenizerJson& step, const std::string& at) {
  const std::string there = at + ": precompiled_charsmap";
  const auto blob = read_base64(text_member(step, "precompiled_charsmap", at));
  require<DataError>(blob.has_value(), "{}: no base64", there);
  return CharsMap(*blob, there);
}

TextStep replacement_of(const TokenizerJson& step, const std::string& at) {
  const TokenizerJson& pattern = json_member(step, "pattern", at);
  const TokenizerJson& by = json_member(step, "content", at);
  if (!by.is_string()) refuse_member(at + ": content", by);
  if (pattern == TokenizerJson{{"Regex", kBlankRuns}}) return ReplaceBlankRuns{.by = by.get<std::string>()};
  if (!pattern.is_object() || pattern.size() != 1 || !pattern.contains("String")) {
    refuse_member(at + ": pattern", pattern);
  }
  return ReplaceText{.text = text_member(pattern, "String", at + ": pattern"), .by = by.get<std::string>()};
}

TextStep text_step(const TokenizerJson& step, const std::string& at) {
  if (const auto form = normal_form_of_step(step, at)) return *form;
  const std::string type = text_member(step, "type", at);
  if (type == "Precompiled") return table_of(step, at);
  if (type == "Replace") return replacement_of(step, at);
  if (type == "Strip") return StripSpace{option(step, "strip_left", at), option(step, "strip_right", at)};
  if (type == "Prepend") return PutBefore{text_member(step, "prepend", at)};
  if (type == "StripAccents") return DropMarks{};
  if (type != "Lowercase") refuse_member(at, step);
  return LowerCase{};
}

// Whether a step may take away more than a character at the beginning of a text and leave something else there than a
// blank. Metaspace's scheme `first` asks where the text began before.
bool may_move_beginning(const TextStep& step) {
  if (const auto* strip = std::get_if<StripSpace>(&step)) return strip->left;
  if (std::holds_alternative<DropMarks>(step)) return true;
  const auto is_blank = [](std::string_view text) { return text.starts_with(' ') || text.starts_with(kBlankSign); };
  if (const auto* runs = std::get_if<ReplaceBlankRuns>(&step)) return !is_blank(runs->by);
  const auto* replace = std::get_if<ReplaceText>(&step);
  if (replace == nullptr || is_blank(replace->by)) return false;
  const std::string& text = replace->text;
  return replace->by.empty() || utf8_at(text.data(), text.data() + text.size()).length < text.size();
}

// WhitespaceSplit, Metaspace, or these two one after the other.
void read_pre_tokenizer(const TokenizerJson& json, const std::string& where, TextRule& rule) {
  const std::string at = where + ": pre_tokenizer";
  for (const TokenizerJson& step : steps_of(json, "pre_tokenizer", "pretokenizers", where)) {
    if (!step.is_object() || rule.blanks) refuse_member(at, step);
    const std::string type = text_member(step, "type", at);
    if (type == "WhitespaceSplit")
      rule.cuts_at_space = true;
    else if (type == "Metaspace")
      rule.blanks = read_metaspace(step, at);
    else
      refuse_member(at, step);
    const bool first = rule.blanks && rule.blanks->prefix == BlankPrefix::IfMissingAtBegin;
    const bool moves = rule.cuts_at_space || std::ranges::any_of(rule.steps, may_move_beginning);
    if (first && moves) refuse_member(at + ": prepend_scheme behind steps that drop white space", "first");
  }
}

// weft decodes by its own rule: pieces one after another, U+2581 as a blank, bytes as they are, and without the blank
// that is put before a text. These decoders do the same.
void check_decoder(const TokenizerJson& json, const std::string& where) {
  const std::string at = where + ": decoder";
  for (const TokenizerJson& step : steps_of(json, "decoder", "decoders", where)) {
    if (!step.is_object()) refuse_member(at, step);
    const std::string type = text_member(step, "type", at);
    const bool gives_blanks = type == "Replace" && step.value("content", TokenizerJson()) == " " &&
                              step.value("pattern", TokenizerJson()) == TokenizerJson{{"String", kBlankSign}};
    const bool takes_blanks = type == "Strip" && step.value("content", TokenizerJson()) == " ";
    const bool signs = type == "Metaspace" && is_blank_sign(step, "replacement");
    const bool known = type == "ByteFallback" || type == "Fuse" || gives_blanks || takes_blanks || signs;
    if (!known) refuse_member(at, step);
  }
}

std::vector<UnigramPiece> read_pieces(const TokenizerJson& model, const std::string& at) {
  const TokenizerJson& list = json_list(json_member(model, "vocab", at), at + ": vocab");
  std::vector<UnigramPiece> pieces;
  pieces.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) pieces.push_back(piece_from_json(list[i], i, at + ": vocab"));
  return pieces;
}

// The added tokens as specials. Tokenizers gives those that are no pieces the ids behind the pieces, in their order,
// whatever the file says.
SpecialTokens specials_of(const TokenizerJson& json, const std::vector<UnigramPiece>& pieces,
                          const std::string& where) {
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < pieces.size(); ++i) ids.emplace(pieces[i].text, static_cast<int32_t>(i));
  SpecialTokens specials;
  auto next = static_cast<int32_t>(pieces.size());
  const std::vector<AddedToken> added = added_tokens(json, PlainNames::OfAll, where);
  for (const auto& [token, at] : added) {
    const auto [known, is_new] = ids.emplace(token.name, next);
    require<DataError>(known->second == token.id, "{}: id {}, but tokenizers gives it {}", at, token.id, known->second);
    if (is_new) ++next;
    specials.tokens.push_back(token);
  }
  std::ranges::sort(specials.tokens, {}, &SpecialToken::id);
  return specials;
}

}  // namespace

TokenizerParts parts_of_unigram(const TokenizerJson& json, const std::string& where) {
  const std::string at = where + ": model", at_steps = where + ": normalizer";
  const TokenizerJson& model = json_member(json, "model", where);
  check_unused(model, "alpha", at, {0.0});  // pieces drawn by chance
  const auto fallback = model.find("byte_fallback");
  UnigramVocabulary vocabulary{
      .rule = {}, .pieces = read_pieces(model, at), .byte_fallback = fallback != model.end() && *fallback == true};
  for (const TokenizerJson& step : steps_of(json, "normalizer", "normalizers", where)) {
    vocabulary.rule.steps.push_back(text_step(step, at_steps));
  }
  read_pre_tokenizer(json, where, vocabulary.rule);
  check_decoder(json, where);
  SpecialTokens specials = specials_of(json, vocabulary.pieces, where);
  const TokenizerJson& unk = json_member(model, "unk_id", at);
  if (unk.is_null()) refuse_member(at + ": unk_id", unk);
  const int32_t unk_id = json_id(unk, at + ": unk_id");
  const auto unknown = std::ranges::find(specials.tokens, unk_id, &SpecialToken::id);
  require<DataError>(
      unknown != specials.tokens.end() && !unknown->in_text && unk_id < static_cast<int64_t>(vocabulary.pieces.size()),
      "{}: unk_id: {} is no piece that is a special of added_tokens", at, unk_id);
  specials.roles[static_cast<size_t>(SpecialRole::Unk)] = unk_id;
  return {std::make_unique<const UnigramModel>(std::move(vocabulary), specials, at), std::move(specials)};
}

}  // namespace weft
