#include "data/prepare/specials.h"

#include "base/error.h"

namespace weft {
namespace {

int32_t needed(const Tokenizer& tokenizer, SpecialRole role, const char* name, const char* side) {
  if (const auto id = tokenizer.special(role)) return *id;
  throw ConfigError(fmt::format("the {} sequences need `{}`, but their tokenizer has none", side, name),
                    fmt::format("name it in the tokenizer's `specials` and set its `{}`", name));
}

}  // namespace

SideSpecials source_specials(const DataConfig& config, const Tokenizer& tokenizer) {
  SideSpecials specials;
  if (config.source_bos) specials.bos = needed(tokenizer, SpecialRole::Bos, "bos", "source");
  if (config.source_eos) specials.eos = needed(tokenizer, SpecialRole::Eos, "eos", "source");
  return specials;
}

SideSpecials target_specials(const Tokenizer& tokenizer) {
  return {.bos = needed(tokenizer, SpecialRole::Bos, "bos", "target"),
          .eos = needed(tokenizer, SpecialRole::Eos, "eos", "target")};
}

SideSpecials answer_specials(const Tokenizer& tokenizer) {
  return {.eos = needed(tokenizer, SpecialRole::Eos, "eos", "answer")};
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
