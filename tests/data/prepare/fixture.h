// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "data/prepare/prepare.h"
#include "data/prepare/records/record_reader.h"
#include "data/tokenizer/tokenizer.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/scratch.h"

namespace weft::test {

inline TokenizerConfig bytes_tokenizer() {
  return {.kind = TokenizerKind::Bytes, .specials = {"<s>", "</s>"}, .bos = "<s>", .eos = "</s>"};
}

inline TokenizerConfig words_tokenizer() {
  return {.kind = TokenizerKind::Words,
          .min_frequency = 1,
          .specials = {"<s>", "</s>", "<unk>"},
          .bos = "<s>",
          .eos = "</s>",
          .unk = "<unk>"};
}

inline DataConfig text_config(const Scratch& scratch, std::vector<std::string> files) {
  return {.directory = (scratch / "out").string(),
          .train = {.files = std::move(files)},
          .document_delimiter = DocumentDelimiter::Line};
}

inline DataConfig tsv_config(const Scratch& scratch, std::vector<std::string> files) {
  return {.directory = (scratch / "out").string(), .format = TextFormat::Tsv, .train = {.files = std::move(files)}};
}

// The records of training text, read as preparation reads them.
struct RecordsRead {
  std::vector<std::string> texts;  // sources
  std::vector<int64_t> lines;
  SkippedRecords skipped;
  std::vector<uint64_t> file_checksums;
};

inline RecordsRead read_records(const DataConfig& config) {
  BadRecords bad(config.bad_records == BadRecordPolicy::Skip);
  const TextFiles files = resolve_files(config.train, config.format);
  const auto reader = open_records(config, files, bad, 2);
  RecordsRead read;
  for (TextRecord record; reader->next(record);) {
    read.texts.push_back(record.source);
    read.lines.push_back(record.line);
  }
  EXPECT_EQ(reader->consumed(), total_bytes(files));
  read.file_checksums = reader->checksums();
  read.skipped = bad.skipped();
  return read;
}

inline Ids all_tokens(const Dataset& dataset) {
  Ids ids(static_cast<size_t>(dataset.num_tokens()));
  dataset.read_tokens(0, ids);
  return ids;
}

inline IdPairs all_pairs(const Dataset& dataset) {
  IdPairs pairs;
  for (int64_t i = 0; i < dataset.num_pairs(); ++i) {
    Ids source(static_cast<size_t>(dataset.source_length(i))), target(static_cast<size_t>(dataset.target_length(i)));
    dataset.read_source(i, source);
    dataset.read_target(i, target);
    pairs.emplace_back(std::move(source), std::move(target));
  }
  return pairs;
}

// The names and bytes of all files of a directory.
inline std::map<std::string, std::string> contents(const fs::path& directory) {
  std::map<std::string, std::string> files;
  if (!fs::exists(directory)) return files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    files[entry.path().filename()] = read_file(entry.path());
  }
  return files;
}

}  // namespace weft::test
