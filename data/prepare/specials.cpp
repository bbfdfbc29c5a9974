// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/specials.h"

#include <set>

#include "base/error.h"

namespace weft {
namespace {

int32_t needed(const Tokenizer& tokenizer, SpecialRole role, const char* name, const char* sequences) {
  if (const auto id = tokenizer.special(role)) return *id;
  throw ConfigError(fmt::format("the {} need `{}`, but their tokenizer has none", sequences, name),
                    fmt::format("name it in the tokenizer's `specials` and set its `{}`", name));
}

// The special that begins sources, documents and prompts, if the job asks for one.
std::optional<int32_t> source_bos(const DataConfig& config, const Tokenizer& tokenizer, const char* sequences) {
  if (!config.source_bos) return {};
  return needed(tokenizer, SpecialRole::Bos, "bos", sequences);
}

}  // namespace

SideSpecials source_specials(const DataConfig& config, const Tokenizer& tokenizer) {
  SideSpecials specials{.bos = source_bos(config, tokenizer, "source sequences of a translation"), .eos = {}};
  if (config.source_eos) specials.eos = needed(tokenizer, SpecialRole::Eos, "eos", "source sequences of a translation");
  return specials;
}

SideSpecials target_specials(const Tokenizer& tokenizer) {
  return {.bos = needed(tokenizer, SpecialRole::Bos, "bos", "target sequences of a translation"),
          .eos = needed(tokenizer, SpecialRole::Eos, "eos", "target sequences of a translation")};
}

SideSpecials document_specials(const DataConfig& config, const Tokenizer& tokenizer) {
  return {.bos = source_bos(config, tokenizer, "documents and prompts (data.source_bos)"),
          .eos = tokenizer.special(SpecialRole::Eos)};
}

SideSpecials answer_specials(const Tokenizer& tokenizer) {
  return {.eos = needed(tokenizer, SpecialRole::Eos, "eos", "answers")};
}

std::vector<int32_t> never_generated(const Tokenizer& tokenizer) {
  std::set<int32_t> never;
  for (const SpecialRole role : {SpecialRole::Bos, SpecialRole::Pad, SpecialRole::Unk}) {
    const auto id = tokenizer.special(role);
    if (id && id != tokenizer.special(SpecialRole::Eos)) never.insert(*id);
  }
  return {never.begin(), never.end()};
}

RecordSpecials specials_of(const DataConfig& config, const Tokenizer& source, const Tokenizer& target) {
  if (config.is_translation()) {
    return {.source = source_specials(config, source), .target = target_specials(target)};
  }
  if (config.kind() == DatasetKind::Chats) return {};  // their template has them
  const SideSpecials document = document_specials(config, source);
  if (!config.is_pairs()) return {.source = document, .target = {}};
  return {.source = {.bos = document.bos, .eos = {}},
          .target = answer_specials(target)};  // the answer follows its prompt
}

std::vector<int32_t> encode_source(const std::string& text, const Tokenizer& tokenizer, const DataConfig& config) {
  const SideSpecials specials = source_specials(config, tokenizer);
  std::vector<int32_t> ids;
  if (specials.bos) ids.push_back(*specials.bos);
  tokenizer.encode_append(text, ids);
  if (specials.eos) ids.push_back(*specials.eos);
  return ids;
}

}  // namespace weft
