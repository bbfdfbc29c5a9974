// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/dataset/manifest.h"
#include "data/prepare/records/split.h"
#include "data/prepare/text_job.h"

namespace weft {

// Everything that a dataset's bytes depend on, by name: "data.format": "text". The directory is left out.
std::map<std::string, std::string> prepare_settings(const TextJob& job);

// Size and time of each file. Checksums are still 0, except those of pipes, of which only the bytes can be compared.
std::vector<InputEntry> stat_inputs(const std::vector<PrepareInput>& inputs);
// Adds the checksums: `known` holds those of the first files, whose text was read; the other files are read now.
void fill_checksums(const std::vector<PrepareInput>& files, std::span<const uint64_t> known,
                    std::vector<InputEntry>& inputs);

// A hash of everything that a dataset is made from.
uint64_t identity_of(const std::map<std::string, std::string>& settings, const std::vector<InputEntry>& inputs);

// The first difference between a dataset and the present settings and files that changes its content; empty if there is
// no such difference. An absent key has its default. Equal text under another name or time is no difference.
std::string difference_of_dataset(const Manifest& manifest, const std::map<std::string, std::string>& settings,
                                  const std::vector<PrepareInput>& files, const std::vector<InputEntry>& inputs);

// The first difference in the settings, which include the names of files. No text is read.
std::string difference_of_settings(const Manifest& manifest, const std::map<std::string, std::string>& settings);

}  // namespace weft
