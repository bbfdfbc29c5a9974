// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/text_fuzz.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "data/prepare/records/record_reader.h"
#include "data/text/json_fields.h"
#include "data/text/text_input.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {
namespace {

struct Read {
  int64_t good = 0, bad = 0;
};

// Throws a DataError at the first bad record, or counts the records of both kinds.
Read read_records(const MemoryFile& file, DataConfig config, bool skip) {
  config.bad_records = skip ? BadRecordPolicy::Skip : BadRecordPolicy::Stop;
  BadRecords bad(skip);
  const auto reader = open_records(config, {.source = {file.path()}, .target = {}}, bad, 1);
  Read read;
  for (TextRecord record; reader->next(record); ++read.good) {
    require<InternalError>(record.line >= 1 && record.file, "a record without a place");
    require<InternalError>(record.source.find('\0') == std::string::npos, "a NUL is taken");
  }
  read.bad = bad.skipped().count();
  return read;
}

bool takes_all(std::span<const uint8_t> bytes, const DataConfig& config) {
  const MemoryFile file(bytes);
  Read skipping;
  try {
    skipping = read_records(file, config, true);
  } catch (const DataError&) {
    return false;  // damaged as a whole: compressed text that is not complete
  }
  try {
    const Read all = read_records(file, config, false);
    require<InternalError>(skipping.bad == 0 && skipping.good == all.good, "skipped where nothing is bad");
    return all.good > 0;
  } catch (const BadRecordError& error) {
    require<InternalError>(skipping.bad > 0, "a bad record is not counted");
    require<InternalError>(std::string_view(error.what()).size() < 300, "a message repeats its input");
    return false;
  }
}

// weft reads a line that a strict parser accepts as that parser does. A line with a NUL is not compared: the strict
// parser ends its text there. The blank is for a byte order mark, which the strict parser skips at the beginning of
// its text: a mark at the beginning of a line is no mark of a file.
void compare_with_strict_parser(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) return;
  const nlohmann::json strict = nlohmann::json::parse(fmt::format(" {}", line), nullptr, false);
  if (strict.is_discarded() || !strict.is_object() || !strict.contains("text") || !strict["text"].is_string()) return;
  std::string text;
  const JsonField field{"data.json_field", "text", &text};
  read_json_fields(line, std::span(&field, 1));
  require<InternalError>(text == strict["text"].get<std::string>(), "another text than a strict parser's");
}

// Text that is read line by line equals text that is read as a whole.
bool decompresses(std::span<const uint8_t> bytes) {
  const MemoryFile file(bytes);
  try {
    TextInput lines{TextFile(file.path())}, whole{TextFile(file.path())};
    std::string text, joined;
    whole.read_rest(text);
    for (std::string_view line; lines.next_line(line);) joined.append(line).append("\n");
    if (!joined.empty() && !text.ends_with('\n')) joined.pop_back();
    require<InternalError>(text == joined, "lines are not the text");
    require<InternalError>(whole.consumed() == bytes.size(), "bytes are left behind the end");
    return !text.empty();
  } catch (const DataError&) {
    return false;
  }
}

bool begins_with(std::span<const uint8_t> bytes, std::string_view magic) { return text_of(bytes).starts_with(magic); }

}  // namespace

bool reads_jsonl(std::span<const uint8_t> bytes) {
  const std::string_view text = text_of(bytes);
  compare_with_strict_parser(text.substr(0, text.find('\n')));
  return takes_all(bytes, {.format = TextFormat::Jsonl});
}

bool reads_messages(std::span<const uint8_t> bytes) { return takes_all(bytes, {.format = TextFormat::Messages}); }

bool reads_tsv(std::span<const uint8_t> bytes) { return takes_all(bytes, {.format = TextFormat::Tsv}); }

bool reads_csv(std::span<const uint8_t> bytes) { return takes_all(bytes, {.format = TextFormat::Csv}); }

bool reads_parquet(std::span<const uint8_t> bytes) {
  return takes_all(bytes, {.format = TextFormat::Parquet, .max_record_bytes = 1 << 20});
}

bool reads_gzip(std::span<const uint8_t> bytes) { return begins_with(bytes, "\x1F\x8B") && decompresses(bytes); }

bool reads_zstd(std::span<const uint8_t> bytes) {
  return begins_with(bytes, "\x28\xB5\x2F\xFD") && decompresses(bytes);
}

}  // namespace weft::test
