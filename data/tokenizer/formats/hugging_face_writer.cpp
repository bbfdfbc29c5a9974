// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizer/bpe/model.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/formats/hugging_face_unigram.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/formats/written_steps.h"
#include "data/tokenizer/pretokenizer.h"
#include "data/tokenizer/pretokenizer_scan.h"
#include "data/tokenizer/symbol_models.h"
#include "data/tokenizer/written.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// The tokens of a BPE as the text of such files, and its merges as pairs of these.
struct VisibleBpe {
  std::optional<NormalForm> normal_form;
  std::vector<Pretokenizer> cuts;
  std::optional<BlankPrefix> prefix;                 // of a BPE of characters
  std::vector<std::pair<std::string, int32_t>> ids;  // ascending; without specials
  std::vector<std::pair<std::string, std::string>> merges;
  bool keeps_whole = false;
};

VisibleBpe visible_bpe(const Tokenizer& tokenizer) {
  VisibleBpe bpe;
  if (tokenizer.kind() == "bytes") {
    bpe.cuts.emplace_back(Pretokenizer::Rule::None);
    const BytesModel model;
    for (int32_t b = 0; b < 256; ++b) bpe.ids.emplace_back(model.written(b), b);
    return bpe;
  }
  if (!has_hugging_face_files(tokenizer)) {
    throw DataError(
        fmt::format("the tokenizer cannot be represented: it is {}{}", tokenizer.kind(),
                    tokenizer.kind() == "bpe" ? " by ranks (tiktoken)" : ""),
        "these files hold BPE by merges and unigram models: tokenizer.kind bpe, gpt2, huggingface or bytes");
  }
  const auto model = BpeModel::read_json(parse_json(tokenizer.to_json(), "the tokenizer"), "the tokenizer");
  bpe.normal_form = model->parts().normal_form;
  for (const std::string& pattern : model->parts().first_patterns) bpe.cuts.emplace_back(pattern);
  bpe.cuts.emplace_back(model->parts().pattern);
  bpe.keeps_whole = model->parts().keeps_whole;
  if (model->parts().characters) bpe.prefix = model->parts().characters->prefix;
  for (int32_t id = 0; id < model->vocabulary(); ++id) {
    if (model->knows(id)) bpe.ids.emplace_back(model->written(id), id);
  }
  for (const BpeMerge& merge : model->parts().merges) {
    bpe.merges.emplace_back(model->written(merge.left), model->written(merge.right));
  }
  return bpe;
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

// The pre-tokenizer that writes blanks as U+2581; null where the normalizer does.
Json metaspace(const VisibleBpe& bpe) {
  const bool splits = bpe.cuts.back().rule() == Pretokenizer::Rule::Blanks;
  if (bpe.prefix == BlankPrefix::Always || (bpe.prefix == BlankPrefix::Never && !splits)) return {};
  return metaspace_step(*bpe.prefix, splits);
}

Json pre_tokenizer(const VisibleBpe& bpe) {
  if (bpe.prefix) return metaspace(bpe);
  using Rule = Pretokenizer::Rule;
  Json steps = Json::array();
  for (const Pretokenizer& cuts : bpe.cuts) {
    const bool is_last = &cuts == &bpe.cuts.back(), by_bytes = cuts.rule() == Rule::Gpt2 || cuts.rule() == Rule::None;
    if (is_last && by_bytes) {
      steps.push_back(byte_level(cuts.rule() == Rule::Gpt2));
      continue;
    }
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", cuts.portable_expression()}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
    if (is_last) steps.push_back(byte_level(false));
  }
  return sequence_of(steps, "pretokenizers");
}

Json normalizer(const VisibleBpe& bpe) {
  Json steps = Json::array();
  if (bpe.normal_form) steps.push_back({{"type", enum_name(*bpe.normal_form)}});
  if (bpe.prefix == BlankPrefix::Always) steps.push_back({{"type", "Prepend"}, {"prepend", kBlankSign}});
  if (bpe.prefix && metaspace(bpe).is_null()) steps.push_back(replace_step({{"String", " "}}, kBlankSign));
  return sequence_of(steps, "normalizers");
}

// Bytes of visible text are joined.
Json decoder(const VisibleBpe& bpe) {
  return bpe.prefix ? decoder_of_pieces(bpe.prefix != BlankPrefix::Never) : byte_level(true);
}

// The post-processor that puts the frame's specials around a text; without specials none, or ByteLevel's, which adds no
// token. `of_text`: the model's tokens are text, and not bytes.
Json post_processor(const std::vector<SpecialToken>& specials, const TextFrame& frame, bool of_text) {
  if (!frame.before && !frame.after) return of_text ? Json() : byte_level(true);
  Json single = Json::array(), tokens = Json::object();
  const auto add = [&](const std::optional<int32_t>& id) {
    for (const SpecialToken& token : specials) {
      if (token.id != id) continue;
      single.push_back({{"SpecialToken", {{"id", token.name}, {"type_id", 0}}}});
      tokens[token.name] = {{"id", token.name}, {"ids", {token.id}}, {"tokens", {token.name}}};
    }
  };
  const auto sequence = [](const char* id) { return Json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  add(frame.before);
  single.push_back(sequence("A"));
  add(frame.after);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", Json::array({sequence("A"), sequence("B")})},
          {"special_tokens", tokens}};
}

// The members of an object with the id of each token and each special. A special that the vocabulary lacked would get
// the next free id there, whatever is said of it elsewhere. Each token is dumped by itself, since an ordered object
// compares every new name with all names before it.
std::string vocabulary_text(const VisibleBpe& bpe, const std::vector<SpecialToken>& specials, std::string_view comma,
                            std::string_view colon) {
  std::string text;
  const auto add = [&](const std::string& name, int32_t id) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : comma, Json(name).dump(), colon, id);
  };
  for (const auto& [name, id] : bpe.ids) add(name, id);
  for (const SpecialToken& special : specials) add(special.name, special.id);
  return text;
}

Json added_tokens_json(const std::vector<SpecialToken>& specials) {
  Json added = Json::array();
  for (const auto& [name, id, in_text, strips_left] : specials) {
    added.push_back({{"id", id},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", strips_left},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", !in_text}});
  }
  return added;
}

// `members`: with the names of the format, and commas between them.
std::string tokenizer_json(const std::vector<SpecialToken>& specials, std::string_view members) {
  return fmt::format(R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},{}}})"
                     "\n",
                     added_tokens_json(specials).dump(), members);
}

std::string bpe_json(const VisibleBpe& bpe, const std::vector<SpecialToken>& specials, const TextFrame& frame) {
  std::string merges;
  for (const auto& [left, right] : bpe.merges) {
    merges += fmt::format("{}{}", merges.empty() ? "" : ",", Json::array({left, right}).dump());
  }
  const bool by_characters = bpe.prefix.has_value();
  const std::string members = fmt::format(
      R"("normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},)"
      R"("model":{{"type":"BPE","dropout":null,"unk_token":null,)"
      R"("continuing_subword_prefix":{},"end_of_word_suffix":{},"fuse_unk":{},"byte_fallback":{},)"
      R"("ignore_merges":{},"vocab":{{{}}},"merges":[{}]}})",
      normalizer(bpe).dump(), pre_tokenizer(bpe).dump(), post_processor(specials, frame, by_characters).dump(),
      decoder(bpe).dump(), by_characters ? "null" : R"("")", by_characters ? "null" : R"("")", by_characters,
      by_characters, bpe.keeps_whole, vocabulary_text(bpe, specials, ",", ":"), merges);
  return tokenizer_json(specials, members);
}

std::string unigram_json(const Tokenizer& tokenizer, const TextFrame& frame) {
  const UnigramMembers members = unigram_members(tokenizer);
  return tokenizer_json(
      tokenizer.specials(),
      fmt::format(R"("normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{})",
                  members.normalizer.dump(), members.pre_tokenizer.dump(),
                  post_processor(tokenizer.specials(), frame, true).dump(), members.decoder.dump(), members.model));
}

// Whether vocab.json and merges.txt, which say nothing else, describe the tokenizer.
bool is_as_gpt2(const VisibleBpe& bpe, const std::vector<SpecialToken>& specials) {
  const auto is_plain = [](const SpecialToken& token) { return !token.in_text && !token.strips_left; };
  return bpe.cuts.size() == 1 && bpe.cuts[0].rule() == Pretokenizer::Rule::Gpt2 && !bpe.normal_form &&
         !bpe.keeps_whole && std::ranges::all_of(specials, is_plain);
}

std::string tokenizer_config(const Tokenizer& tokenizer, int64_t max_length) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"model_max_length", max_length},
                 {"clean_up_tokenization_spaces", false}};
  const auto add = [&](const char* key, SpecialRole role) {
    if (const auto name = special_name(tokenizer, role)) config[key] = *name;
  };
  add("bos_token", SpecialRole::Bos);
  add("eos_token", SpecialRole::Eos);
  add("pad_token", SpecialRole::Pad);
  add("unk_token", SpecialRole::Unk);
  return config.dump(2) + "\n";
}

}  // namespace

bool has_hugging_face_files(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != "bpe") return tokenizer.kind() == "bytes" || tokenizer.kind() == "unigram";
  return parse_json(tokenizer.to_json(), "the tokenizer")["rule"] == "merges";
}

std::map<std::string, std::string> hugging_face_tokenizer_files(const Tokenizer& tokenizer, int64_t max_length,
                                                                const TextFrame& frame) {
  std::map<std::string, std::string> files;
  files["tokenizer_config.json"] = tokenizer_config(tokenizer, max_length);
  if (tokenizer.kind() == "unigram") {
    files["tokenizer.json"] = unigram_json(tokenizer, frame);
    return files;
  }
  const VisibleBpe bpe = visible_bpe(tokenizer);
  files["tokenizer.json"] = bpe_json(bpe, tokenizer.specials(), frame);
  if (!is_as_gpt2(bpe, tokenizer.specials())) return files;
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : bpe.merges) merges += fmt::format("{} {}\n", left, right);
  files["vocab.json"] = fmt::format("{{{}}}\n", vocabulary_text(bpe, tokenizer.specials(), ", ", ": "));
  files["merges.txt"] = merges;
  return files;
}

}  // namespace weft
