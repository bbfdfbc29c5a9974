// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/record_reader.h"

#include <algorithm>

#include "base/enum_table.h"
#include "base/error.h"

namespace weft {

RecordOpener open_documents, open_json_lines, open_parallel_lines, open_tab_columns;  // record_rules.cpp
RecordOpener open_csv;                                                                // csv_reader.cpp
RecordOpener open_messages;                                                           // chat_rule.cpp
RecordOpener open_parquet;                                                            // parquet_reader.cpp

namespace {

constexpr EnumTable<TextFormat, RecordOpener*> kOpeners = {
    {TextFormat::Text, open_documents},
    {TextFormat::Jsonl, open_json_lines},
    {TextFormat::Csv, open_csv},
    {TextFormat::Parallel, open_parallel_lines},
    {TextFormat::Tsv, open_tab_columns},
    {TextFormat::PromptAnswer, open_json_lines},
    {TextFormat::Messages, open_messages},
    {TextFormat::Parquet, open_parquet},
    {TextFormat::ParquetPromptAnswer, open_parquet},
};

}  // namespace

std::unique_ptr<RecordReader> open_records(const DataConfig& config, TextFiles files, BadRecords& bad, int threads) {
  return kOpeners[config.format](config, std::move(files), bad, threads);
}

std::string place_of(const TextRecord& record, bool target, size_t offset) {
  const std::string& text = target ? record.target : record.source;
  const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(offset, text.size()));
  return fmt::format("{}:{}", (target ? record.target_file : record.file)->string(),
                     record.line + (record.on_one_line ? 0 : std::count(text.begin(), end, '\n')));
}

BadRecordError placed(const BadRecordError& error, std::string_view place) {
  return {error.reason(), fmt::format("{}: {}", place, error.what()), error.hint()};
}

BadRecordError nul_error() {
  return {BadRecord::Nul, "a NUL byte: this is not text", "convert UTF-16 or UTF-32 to UTF-8 first"};
}

void refuse_nul(const TextRecord& record) {
  for (const bool target : {false, true}) {
    const size_t nul = (target ? record.target : record.source).find('\0');
    if (nul != std::string::npos) throw placed(nul_error(), place_of(record, target, nul));
  }
}

}  // namespace weft
