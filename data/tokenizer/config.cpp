// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/config.h"

#include <unordered_set>

#include "base/error.h"
#include "data/tokenizer/pretokenizer.h"

namespace weft {

namespace {

void check_role(const TokenizerConfig& config, const char* role, const std::string& name) {
  if (name.empty() || config.is_loaded()) return;  // the file may define the special: checked when it is loaded
  for (const std::string& special : config.specials) {
    if (special == name) return;
  }
  throw ConfigError(fmt::format("tokenizer: {} is \"{}\", which is not one of `specials`", role, name),
                    "add it to the list of specials");
}

void check_files(const TokenizerConfig& config, std::string_view kind) {
  const auto check = [&](const char* key, const std::string& file, bool needs) {
    require<ConfigError>(needs == !file.empty(), "tokenizer: kind {} {} `{}`", kind, needs ? "needs" : "reads no", key);
  };
  const bool is_gpt2 = config.kind == TokenizerKind::Gpt2;
  check("vocab_file", config.vocab_file, is_gpt2);
  check("merges_file", config.merges_file, is_gpt2);
  check("ranks_file", config.ranks_file, config.kind == TokenizerKind::Tiktoken);
  check("model_file", config.model_file,
        config.kind == TokenizerKind::HuggingFace || config.kind == TokenizerKind::SentencePiece);
}

void check_sizes(const TokenizerConfig& config, std::string_view kind) {
  const bool bpe = config.kind == TokenizerKind::Bpe;
  require<ConfigError>(config.min_frequency >= 1, "tokenizer: min_frequency {} is less than 1", config.min_frequency);
  require<ConfigError>(config.vocabulary >= 0 && config.merges >= 0,
                       "tokenizer: vocabulary {} and merges {} must not be negative", config.vocabulary, config.merges);
  require<ConfigError>(bpe || config.merges == 0, "tokenizer: kind {} learns no merges, but `merges` is {}", kind,
                       config.merges);
  require<ConfigError>(bpe || config.kind == TokenizerKind::Words || config.vocabulary == 0,
                       "tokenizer: the vocabulary of kind {} is not chosen, but `vocabulary` is {}", kind,
                       config.vocabulary);
  require<ConfigError>(config.vocabulary == 0 || config.merges == 0,
                       "tokenizer: vocabulary {} and merges {} are both given; one follows from the other",
                       config.vocabulary, config.merges);
  const auto specials = static_cast<int64_t>(config.specials.size());
  const int64_t smallest = specials + (bpe ? 256 : 1);
  require<ConfigError>(config.vocabulary == 0 || config.vocabulary >= smallest,
                       "tokenizer: vocabulary {} has no room for {} specials{}", config.vocabulary, specials,
                       bpe ? " and the 256 bytes" : " and one word");
}

}  // namespace

void TokenizerConfig::check() const {
  const std::string_view kind_name = enum_name(kind);
  check_files(*this, kind_name);
  check_sizes(*this, kind_name);
  const bool is_cut = kind == TokenizerKind::Bpe || kind == TokenizerKind::Tiktoken;
  require<ConfigError>(kind == TokenizerKind::Words || !word_forms().any(),
                       "tokenizer: kind {} has no words to which `lowercase` and `strip_punctuation` apply", kind_name);
  if (is_cut && !pattern.empty()) Pretokenizer{pattern};  // throws if the pattern is wrong
  std::unordered_set<std::string_view> names;
  for (const std::string& name : specials) {
    require<ConfigError>(!name.empty(), "tokenizer: a special's name is empty");
    require<ConfigError>(names.insert(name).second, "tokenizer: special \"{}\" is listed twice", name);
  }
  check_role(*this, "bos", bos);
  check_role(*this, "eos", eos);
  check_role(*this, "pad", pad);
  check_role(*this, "unk", unk);
  if (kind == TokenizerKind::Words && unk.empty() && (min_frequency > 1 || vocabulary > 0)) {
    throw ConfigError("tokenizer: kind words leaves out rare words, but there is no `unk` for them",
                      "set `unk` to one of `specials`, or min_frequency to 1 and vocabulary to 0");
  }
  const bool has_unknown = kind == TokenizerKind::Chars || kind == TokenizerKind::Words;
  const bool has_own = kind == TokenizerKind::SentencePiece || kind == TokenizerKind::HuggingFace;
  require<ConfigError>(unk.empty() || has_unknown, "tokenizer: kind {} {}, but `unk` is \"{}\"", kind_name,
                       has_own ? "has what its file says of `unk`" : "knows every byte", unk);
}

}  // namespace weft
