#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/dataset_manifest.h"
#include "data/prepare/config.h"
#include "data/tokenizer/config.h"

namespace weft {

// Everything that a dataset's bytes depend on, by name: "data.format": "text". The directory is left out.
std::map<std::string, std::string> prepare_settings(const DataConfig& data, const TokenizerConfig& tokenizer,
                                                    const std::optional<TokenizerConfig>& target_tokenizer);

// Size and time of each file; checksums are not yet known (0).
std::vector<InputEntry> stat_inputs(const std::vector<fs::path>& paths);
// Adds the checksums, reading every file once.
void hash_inputs(std::vector<InputEntry>& inputs);

// The first setting that differs, as "data.KEY was "A" and is now "B""; empty if none does. Keys at their default count
// as absent.
std::string settings_difference(const Manifest& manifest, const std::map<std::string, std::string>& settings);

// What differs between a dataset and what is now asked for; empty if nothing does. Files whose time changed are
// hashed: the same text under a new time is the same.
std::string difference(const Manifest& manifest, const std::map<std::string, std::string>& settings,
                       const std::vector<InputEntry>& inputs);

// The files that tokenizer sections read.
std::vector<fs::path> tokenizer_inputs(const DataConfig& data, const TokenizerConfig& tokenizer,
                                       const std::optional<TokenizerConfig>& target_tokenizer);

}  // namespace weft
