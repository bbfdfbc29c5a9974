// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizer/bpe/model.h"
#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/pretokenizer.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// The tokens of a byte-level BPE as visible text, and its merges as pairs of visible texts.
struct VisibleBpe {
  std::string pattern, expression;
  std::vector<std::pair<std::string, int32_t>> ids;  // ascending; without specials
  std::vector<std::pair<std::string, std::string>> merges;
  bool keeps_whole = false;
};

VisibleBpe visible_bpe(const Tokenizer& tokenizer) {
  const TokenizerJson json = parse_json(tokenizer.to_json(), "the tokenizer");
  const VisibleBytes visible;
  VisibleBpe bpe{.pattern = "none"};
  if (tokenizer.kind() == "bytes") {
    for (int b = 0; b < 256; ++b) bpe.ids.emplace_back(visible.write(std::string(1, static_cast<char>(b))), b);
    return bpe;
  }
  if (tokenizer.kind() != "bpe" || json["rule"] != "merges") {
    throw DataError(fmt::format("the tokenizer cannot be represented: it is {}{}", tokenizer.kind(),
                                tokenizer.kind() == "bpe" ? " by ranks (tiktoken)" : ""),
                    "these files hold byte-level BPE by merges: tokenizer.kind bpe, gpt2 or bytes");
  }
  const auto model = BpeModel::read_json(json, "the tokenizer");
  const Pretokenizer pretokenizer(model->parts().pattern);
  bpe.pattern = pretokenizer.pattern(), bpe.expression = pretokenizer.portable_expression();
  bpe.keeps_whole = model->parts().keeps_whole;
  const auto text = [&](int32_t id) { return visible.write(model->bytes(id)); };
  for (int32_t id = 0; id < model->vocabulary(); ++id) {
    if (model->knows(id)) bpe.ids.emplace_back(text(id), id);
  }
  for (const BpeMerge& merge : model->parts().merges) bpe.merges.emplace_back(text(merge.left), text(merge.right));
  return bpe;
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

Json pre_tokenizer(const VisibleBpe& bpe) {
  if (bpe.pattern == "gpt2" || bpe.pattern == "none") return byte_level(bpe.pattern == "gpt2");
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", bpe.expression}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level(false)})}};
}

// The post-processor that puts the frame's specials around a text; without specials ByteLevel's, which adds no token.
Json post_processor(const std::vector<SpecialToken>& specials, const TextFrame& frame) {
  if (!frame.before && !frame.after) return byte_level(true);
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

std::string tokenizer_json(const VisibleBpe& bpe, const std::vector<SpecialToken>& specials, const TextFrame& frame) {
  Json added = Json::array();
  for (const auto& [name, id] : specials) {
    added.push_back({{"id", id},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  // Each token is dumped by itself, since an ordered object compares every new name with all names before it.
  std::string vocab, merges;
  for (const auto& [text, id] : bpe.ids)
    vocab += fmt::format("{}{}:{}", vocab.empty() ? "" : ",", Json(text).dump(), id);
  for (const auto& [left, right] : bpe.merges) {
    merges += fmt::format("{}{}", merges.empty() ? "" : ",", Json::array({left, right}).dump());
  }
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":null,"pre_tokenizer":{},)"
      R"("post_processor":{},"decoder":{},"model":{{"type":"BPE","dropout":null,"unk_token":null,)"
      R"("continuing_subword_prefix":"","end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,)"
      R"("ignore_merges":{},"vocab":{{{}}},"merges":[{}]}}}})"
      "\n",
      added.dump(), pre_tokenizer(bpe).dump(), post_processor(specials, frame).dump(), byte_level(true).dump(),
      bpe.keeps_whole, vocab, merges);
}

std::string tokenizer_config(const Tokenizer& tokenizer, int64_t max_length) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"model_max_length", max_length},
                 {"clean_up_tokenization_spaces", false}};
  const auto add = [&](const char* key, SpecialRole role) {
    const auto id = tokenizer.special(role);
    for (const SpecialToken& token : tokenizer.specials()) {
      if (token.id == id) config[key] = token.name;
    }
  };
  add("bos_token", SpecialRole::Bos);
  add("eos_token", SpecialRole::Eos);
  add("pad_token", SpecialRole::Pad);
  add("unk_token", SpecialRole::Unk);
  return config.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> hugging_face_tokenizer_files(const Tokenizer& tokenizer, int64_t max_length,
                                                                const TextFrame& frame) {
  const VisibleBpe bpe = visible_bpe(tokenizer);
  std::map<std::string, std::string> files;
  files["tokenizer.json"] = tokenizer_json(bpe, tokenizer.specials(), frame);
  files["tokenizer_config.json"] = tokenizer_config(tokenizer, max_length);
  if (bpe.pattern != "gpt2") return files;
  std::string vocab, merges = "#version: 0.2\n";
  for (const auto& [text, id] : bpe.ids)
    vocab += fmt::format("{}{}: {}", vocab.empty() ? "" : ", ", Json(text).dump(), id);
  for (const auto& [name, id] : tokenizer.specials()) vocab += fmt::format(", {}: {}", Json(name).dump(), id);
  for (const auto& [left, right] : bpe.merges) merges += left + " " + right + "\n";
  files["vocab.json"] = "{" + vocab + "}\n";
  files["merges.txt"] = merges;
  return files;
}

}  // namespace weft
