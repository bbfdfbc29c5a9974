// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "data/chat/template.h"

namespace weft {

namespace {

void check_files(const DataConfig& config, const char* split, const SplitFiles& files) {
  const bool two_sided = config.format == TextFormat::Parallel;
  const std::string_view format = enum_name(config.format);
  require<ConfigError>(two_sided || (files.source.empty() && files.target.empty()),
                       "data: format {} reads `{}.files`, not `source` and `target`", format, split);
  require<ConfigError>(!two_sided || files.files.empty(),
                       "data: format parallel reads `{}.source` and `{}.target`, not `files`", split, split);
  require<ConfigError>(!two_sided || files.source.empty() == files.target.empty(),
                       "data: {} names files of one language only", split);
}

void check_split(const DataConfig& config) {
  const std::string_view rule = enum_name(config.split);
  const bool by_file = config.split == SplitRule::Files;
  require<ConfigError>(by_file || (config.valid.empty() && config.test.empty()),
                       "data: split {} divides the text of `train`; `valid` and `test` must name no files", rule);
  require<ConfigError>(!by_file || (config.valid_fraction == 0 && config.test_fraction == 0),
                       "data: valid_fraction {} and test_fraction {} need a split rule: hash, records or characters",
                       config.valid_fraction, config.test_fraction);
  require<ConfigError>(
      config.valid_fraction >= 0 && config.test_fraction >= 0 && config.valid_fraction + config.test_fraction < 1,
      "data: valid_fraction {} and test_fraction {} leave nothing to train on", config.valid_fraction,
      config.test_fraction);
  require<ConfigError>(config.split != SplitRule::Characters || !config.is_pairs(),
                       "data: split characters would cut records; use records, hash or files");
  require<ConfigError>(config.split != SplitRule::Characters || config.duplicates == DuplicatePolicy::Keep,
                       "data: split characters cuts documents, and `duplicates` {} compares them whole; use records, "
                       "hash or files, or keep duplicates",
                       enum_name(config.duplicates));
}

// A sequence needs room for its specials and one token of text.
void check_longest(const char* name, int64_t longest, int64_t specials) {
  require<ConfigError>(longest == 0 || longest > specials, "data: {} {} has no room for {} specials and a token", name,
                       longest, specials);
}

}  // namespace

std::string formats_of(std::initializer_list<DatasetKind> kinds) {
  std::vector<std::string_view> names;
  for (const auto& [name, format] : EnumNames<TextFormat>::kNames) {
    if (std::ranges::count(kinds, kKindOfFormat[format]) > 0) names.push_back(name);
  }
  const std::string_view last = names.back();
  names.pop_back();
  return names.empty() ? std::string(last) : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

std::vector<DatasetSource> DataConfig::sources() const {
  std::vector<DatasetSource> all{{.directory = directory, .weight = weight}};
  for (const MixtureSource& source : mixture) all.push_back({.directory = source.directory, .weight = source.weight});
  return all;
}

void DataConfig::check() const {
  require<ConfigError>(!directory.empty(), "data: `directory` is not set");
  check_sources(sources());
  require<ConfigError>(!train.empty(), "data: `train` names no files");
  check_files(*this, "train", train);
  check_files(*this, "valid", valid);
  check_files(*this, "test", test);
  check_split(*this);
  const bool separated = document_delimiter == DocumentDelimiter::Separator;
  require<ConfigError>(format == TextFormat::Text || !separated, "data: format {} has no document separator",
                       enum_name(format));
  require<ConfigError>(separated == !separator.empty(), "data: `separator` is {}, but document_delimiter is {}",
                       separator.empty() ? "not set" : "set", enum_name(document_delimiter));
  const bool has_field = format == TextFormat::Jsonl || format == TextFormat::Csv || format == TextFormat::Parquet;
  require<ConfigError>(!has_field || !json_field.empty(), "data: `json_field` is empty");
  require<ConfigError>(!document_mask || !is_pairs(),
                       "data: document_mask is for streams of documents; format {} has none, set it to false",
                       enum_name(format));
  require<ConfigError>(kind() != DatasetKind::Answers || (!prompt_field.empty() && !answer_field.empty()),
                       "data: `prompt_field` or `answer_field` is empty");
  if (format == TextFormat::Messages) {
    require<ConfigError>(!messages_field.empty(), "data: `messages_field` is empty");
    require<ConfigError>(max_target_tokens == 0,
                         "data: max_target_tokens is {}, but in format messages "
                         "max_source_tokens is for whole conversations",
                         max_target_tokens);
    ChatTemplate::of(chat);
  }
  require<ConfigError>(source_column >= 1 && target_column >= 1, "data: columns are counted from 1, not {} and {}",
                       source_column, target_column);
  require<ConfigError>(max_source_tokens >= 0 && max_target_tokens >= 0,
                       "data: max_source_tokens {} and max_target_tokens {} are negative", max_source_tokens,
                       max_target_tokens);
  check_longest("max_source_tokens", max_source_tokens, int64_t{source_bos} + int64_t{source_eos});
  check_longest("max_target_tokens", max_target_tokens, 2);
  require<ConfigError>(max_unknown_fraction >= 0 && max_unknown_fraction <= 1,
                       "data: max_unknown_fraction {} is not in [0, 1]", max_unknown_fraction);
  require<ConfigError>(max_bad_fraction >= 0 && max_bad_fraction <= 1, "data: max_bad_fraction {} is not in [0, 1]",
                       max_bad_fraction);
  require<ConfigError>(skip_lines >= 0, "data: skip_lines {} is negative", skip_lines);
  require<ConfigError>(skip_lines == 0 || !is_parquet(), "data: skip_lines is {}, but format {} has no lines",
                       skip_lines, enum_name(format));
  require<ConfigError>(target_tokenizer_file.empty() || (is_translation() && !tokenizer_file.empty()),
                       "data: `target_tokenizer_file` needs `tokenizer_file` for the source, and format {}",
                       formats_of({DatasetKind::Pairs}));
  require<ConfigError>(shard_tokens >= 1, "data: shard_tokens {} is less than 1", shard_tokens);
}

}  // namespace weft
