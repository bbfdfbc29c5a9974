// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "data/tokenizer/formats/base64.h"
#include "data/tokenizer/formats/hugging_face_unigram.h"
#include "data/tokenizer/formats/written_steps.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct StepToMember {
  OrderedJson operator()(const CharsMap& map) const {
    return {{"type", "Precompiled"}, {"precompiled_charsmap", write_base64(map.blob())}};
  }
  OrderedJson operator()(const ReplaceText& step) const { return replace_step({{"String", step.text}}, step.by); }
  OrderedJson operator()(const ReplaceBlankRuns& step) const { return replace_step({{"Regex", kBlankRuns}}, step.by); }
  OrderedJson operator()(const StripSpace& step) const {
    return {{"type", "Strip"}, {"strip_left", step.left}, {"strip_right", step.right}};
  }
  OrderedJson operator()(const PutBefore& step) const { return {{"type", "Prepend"}, {"prepend", step.text}}; }
  OrderedJson operator()(const LowerCase&) const { return {{"type", "Lowercase"}}; }
  OrderedJson operator()(const DropMarks&) const { return {{"type", "StripAccents"}}; }
  OrderedJson operator()(NormalForm form) const { return {{"type", enum_name(form)}}; }
};

OrderedJson normalizer_of(const TextRule& rule) {
  OrderedJson steps = OrderedJson::array();
  for (const TextStep& step : rule.steps) steps.push_back(std::visit(StepToMember{}, step));
  return sequence_of(steps, "normalizers");
}

OrderedJson pre_tokenizer_of(const TextRule& rule) {
  OrderedJson steps = OrderedJson::array();
  if (rule.cuts_at_space) steps.push_back({{"type", "WhitespaceSplit"}});
  if (rule.blanks) steps.push_back(metaspace_step(rule.blanks->prefix, rule.blanks->cuts));
  return sequence_of(steps, "pretokenizers");
}

// Tokenizers gives a special that is no piece the next id behind the pieces, and one that has a piece's name its id.
void check_ids(const std::vector<UnigramPiece>& pieces, const std::vector<SpecialToken>& specials) {
  std::unordered_set<std::string_view> names;
  for (const UnigramPiece& piece : pieces) names.insert(piece.text);
  auto next = static_cast<int32_t>(pieces.size());
  for (const SpecialToken& token : specials) {
    const bool is_piece = token.id < static_cast<int32_t>(pieces.size());
    const bool fits = is_piece || (token.id == next++ && !names.contains(token.name));
    require<DataError>(
        fits, "the tokenizer cannot be represented: tokenizers would give the special \"{}\" another id than {}",
        token.name, token.id);
  }
}

}  // namespace

UnigramMembers unigram_members(const Tokenizer& tokenizer) {
  const TokenizerJson json = parse_json(tokenizer.to_json(), "the tokenizer");
  SpecialTokens specials{.tokens = tokenizer.specials(), .roles = {}};
  const auto unk = tokenizer.special(SpecialRole::Unk);
  specials.roles[static_cast<size_t>(SpecialRole::Unk)] = unk;
  const auto model = UnigramModel::read_json(json, specials, "the tokenizer");
  const UnigramVocabulary& parts = model->parts();
  check_ids(parts.pieces, specials.tokens);
  std::string pieces;
  for (const auto& [text, score] : parts.pieces) {
    pieces += fmt::format("{}{}", pieces.empty() ? "" : ",", OrderedJson::array({text, score}).dump());
  }
  return {.normalizer = normalizer_of(parts.rule),
          .pre_tokenizer = pre_tokenizer_of(parts.rule),
          .decoder = decoder_of_pieces(parts.rule.puts_blank()),
          .model = fmt::format(R"({{"type":"Unigram","unk_id":{},"vocab":[{}],"byte_fallback":{}}})", *unk, pieces,
                               parts.byte_fallback)};
}

}  // namespace weft
