// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "base/config/renamed_keys.h"
#include "base/enum_table.h"
#include "data/chat/config.h"
#include "data/dataset/dataset.h"

namespace weft {

enum class TextFormat {
  Text,                 // plain text, cut into documents by DocumentDelimiter
  Jsonl,                // one JSON object a line, of which one field is a document
  Csv,                  // records of comma-separated fields, quoted or not; one column is a document
  Parquet,              // rows of a table; one column is a document
  Parallel,             // pairs of files: line n of one translates line n of the other
  Tsv,                  // two columns of tab-separated lines
  PromptAnswer,         // one JSON object a line, of which two fields are a prompt and its answer
  ParquetPromptAnswer,  // rows of a table, of which two columns are a prompt and its answer
  Messages,             // one JSON object a line, of which a field is a list of messages
};
template <>
struct EnumNames<TextFormat> {
  static constexpr auto kNames = enum_names<TextFormat>("text", "jsonl", "csv", "parquet", "parallel", "tsv",
                                                        "prompt_answer", "parquet_prompt_answer", "messages");
};

// The kind of dataset that the records of a format become.
inline constexpr EnumTable<TextFormat, DatasetKind> kKindOfFormat = {
    {TextFormat::Text, DatasetKind::Stream},          {TextFormat::Jsonl, DatasetKind::Stream},
    {TextFormat::Csv, DatasetKind::Stream},           {TextFormat::Parquet, DatasetKind::Stream},
    {TextFormat::Parallel, DatasetKind::Pairs},       {TextFormat::Tsv, DatasetKind::Pairs},
    {TextFormat::PromptAnswer, DatasetKind::Answers}, {TextFormat::ParquetPromptAnswer, DatasetKind::Answers},
    {TextFormat::Messages, DatasetKind::Chats},
};
// The names of the formats that become one of these kinds, for messages: "text, jsonl or prompt_answer".
std::string formats_of(std::initializer_list<DatasetKind> kinds);

enum class DocumentDelimiter { BlankLine, File, Line, Separator };
template <>
struct EnumNames<DocumentDelimiter> {
  static constexpr auto kNames = enum_names<DocumentDelimiter>("blank_line", "file", "line", "separator");
};

enum class SplitRule {
  Files,       // train, valid and test name their own files
  Hash,        // each record by a keyed hash of its index
  Records,     // the first records train, the next validate, the last test
  Characters,  // as Records, but by characters: a boundary may cut a document
};
template <>
struct EnumNames<SplitRule> {
  static constexpr auto kNames = enum_names<SplitRule>("files", "hash", "records", "characters");
};

enum class OverlongPairs { Drop, Truncate, Keep };
template <>
struct EnumNames<OverlongPairs> {
  static constexpr auto kNames = enum_names<OverlongPairs>("drop", "truncate", "keep");
};

enum class EmptyPairs { Drop, Keep };
template <>
struct EnumNames<EmptyPairs> {
  static constexpr auto kNames = enum_names<EmptyPairs>("drop", "keep");
};

enum class BadRecordPolicy { Stop, Skip };
template <>
struct EnumNames<BadRecordPolicy> {
  static constexpr auto kNames = enum_names<BadRecordPolicy>("stop", "skip");
};

enum class DuplicatePolicy { Keep, Count, Drop };
template <>
struct EnumNames<DuplicatePolicy> {
  static constexpr auto kNames = enum_names<DuplicatePolicy>("keep", "count", "drop");
};

// The files of one split. Names are files, pipes, directories or patterns (file_names.h); each file may be compressed.
struct SplitFiles {
  std::vector<std::string> files;
  std::vector<std::string> source;
  std::vector<std::string> target;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("files", files, "Files, directories or patterns (any format but parallel); plain, gzip or zstd.");
    v.field("source", source, "Files of the source language (format parallel).");
    v.field("target", target, "Files of the target language, as many as of the source (format parallel).");
  }
  bool empty() const { return files.empty() && source.empty() && target.empty(); }
};

// Another prepared dataset to train on, besides the dataset in data.directory.
struct MixtureSource {
  std::string directory;
  double weight = 1;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("directory", directory, "Where the prepared dataset lies; it has the tokenizer of data.directory.");
    v.field("weight", weight, "The share of this dataset, as data.weight.", kWeights);
  }
  static constexpr Range kWeights{.min = 1e-9, .max = 1e9};
};

// The text that becomes a dataset, and how. A record is a document, a pair of sentences, a prompt and its answer, or a
// conversation.
struct DataConfig {
  std::string directory;
  double weight = 1;
  std::vector<MixtureSource> mixture;
  TextFormat format = TextFormat::Text;
  SplitFiles train;
  SplitFiles valid;
  SplitFiles test;
  DocumentDelimiter document_delimiter = DocumentDelimiter::BlankLine;
  std::string separator;
  std::string json_field = "text";
  std::string prompt_field = "prompt";
  std::string answer_field = "answer";
  std::string messages_field = "messages";
  ChatConfig chat;
  int64_t source_column = 1;
  int64_t target_column = 2;
  int64_t skip_lines = 0;
  BadRecordPolicy bad_records = BadRecordPolicy::Stop;
  double max_bad_fraction = 0.05;
  int64_t max_record_bytes = int64_t{1} << 30;
  DuplicatePolicy duplicates = DuplicatePolicy::Keep;
  SplitRule split = SplitRule::Files;
  double valid_fraction = 0;
  double test_fraction = 0;
  int64_t split_seed = 0;
  bool source_bos = false;
  bool source_eos = true;
  int64_t max_source_tokens = 0;
  int64_t max_target_tokens = 0;
  OverlongPairs overlong_pairs = OverlongPairs::Drop;
  OverlongPairs heldout_overlong_pairs = OverlongPairs::Keep;
  EmptyPairs heldout_empty_pairs = EmptyPairs::Keep;
  double max_unknown_fraction = 0.05;
  int64_t shard_tokens = int64_t{1} << 26;
  std::string tokenizer_file;
  std::string target_tokenizer_file;
  bool document_mask = false;

  template <class Visitor>
  void fields(Visitor& v) {
    // Keys that make the dataset do not affect a resumed run, which compares the texts and tokenizers of the dataset.
    constexpr Affects kPrepared = Affects::Nothing;
    v.field("directory", directory, "Where the prepared dataset lies.", kPrepared);
    v.field("weight", weight,
            "Its share of the windows or pairs that are trained on, relative to those of data.mixture; without effect "
            "if data.mixture is empty.",
            MixtureSource::kWeights);
    v.field("mixture", mixture,
            "More prepared datasets that are trained on with it, each with its weight (docs/batches.md); weft prepare "
            "makes data.directory alone.");
    v.field(
        "format", format,
        "text: plain text for a language model. jsonl: text in a field of JSON lines. csv: text in a column of CSV "
        "files, whose first record names the columns. parquet: text in a column of Parquet files. parallel: "
        "translation from two files. tsv: translation from two tab-separated columns. prompt_answer: JSON lines with "
        "a prompt and an answer each, for a language model that learns the answers alone; parquet_prompt_answer: from "
        "two columns of Parquet files. messages: JSON lines with a conversation each, of which it learns what the "
        "assistant says.",
        kPrepared);
    v.field("train", train, "Text to train on; with a split rule other than files, all text.", kPrepared);
    v.field("valid", valid, "Text to validate on (split: files).", kPrepared);
    v.field("test", test, "Text to test on (split: files).", kPrepared);
    v.field("document_delimiter", document_delimiter,
            "What separates documents (format text): blank_line, file (each file is one), line, or separator.",
            kPrepared);
    v.field("separator", separator, "The string between documents (document_delimiter: separator).", kPrepared);
    v.field("json_field", json_field, "The field (format jsonl) or column (formats csv, parquet) that holds the text.",
            kPrepared);
    v.field("prompt_field", prompt_field,
            "The field or column that holds the prompt (formats prompt_answer, parquet_prompt_answer).", kPrepared);
    v.field(
        "answer_field", answer_field,
        "The field or column that holds the answer, whose text follows the prompt's at once (formats prompt_answer, "
        "parquet_prompt_answer).",
        kPrepared);
    v.field("messages_field", messages_field, "The field that holds the list of messages (format messages).",
            kPrepared);
    v.field("chat", chat, "How conversations become text (format messages, weft chat).", kPrepared);
    v.field("source_column", source_column, "Column of the source language, from 1 (format tsv).",
            {Range{.min = 1}, kPrepared});
    v.field("target_column", target_column, "Column of the target language, from 1 (format tsv).",
            {Range{.min = 1}, kPrepared});
    v.field(
        "skip_lines", skip_lines,
        "Lines to skip at the beginning of each file, such as a header (format csv: before its header; not Parquet).",
        {Range{.min = 0}, kPrepared});
    v.field(
        "bad_records", bad_records,
        "What happens at a bad record (not JSON, a column or field that is missing or null, a stray quote, a NUL byte, "
        "invalid UTF-8 if the tokenizer needs it): stop, or skip and count it.",
        kPrepared);
    v.field("max_bad_fraction", max_bad_fraction,
            "Preparation fails if more than this share of all records is skipped (bad_records: skip).",
            {Range{.min = 0, .max = 1}, kPrepared});
    v.field("max_record_bytes", max_record_bytes,
            "Bytes of a record's text at most: a longer one, such as a file that is one document, or a line without an "
            "end in a small compressed file, is an error before it fills the memory.",
            {Range{.min = 1, .max = double(int64_t{1} << 40)}, kPrepared});
    v.field("duplicates", duplicates,
            "Records that are equal byte for byte: keep them, count them, or drop from the training text those that "
            "repeat an earlier one or are held out.",
            kPrepared);
    v.field("split", split,
            "Who trains: files (as named), hash (each record drawn by split_seed), records or characters (the first "
            "train, the next validate, the last test).",
            kPrepared);
    v.field("valid_fraction", valid_fraction, "Share that validates (split: hash, records, characters).",
            {Range{.min = 0, .max = 1}, kPrepared});
    v.field("test_fraction", test_fraction, "Share that tests (split: hash, records, characters).",
            {Range{.min = 0, .max = 1}, kPrepared});
    v.field("split_seed", split_seed, "Seed of the draw (split: hash).", {Range{.min = 0}, kPrepared});
    v.field("source_bos", source_bos,
            "Begin source sequences, documents and prompts with the tokenizer's bos, as models that were trained so "
            "need it. Target sequences always have bos and eos; conversations begin as their template says.",
            kPrepared);
    v.field("source_eos", source_eos, "End source sequences with the tokenizer's eos.", kPrepared);
    v.field("max_source_tokens", max_source_tokens,
            "Tokens of a source sequence, prompt or conversation at most, specials included; 0: any.",
            {Range{.min = 0}, kPrepared});
    v.field("max_target_tokens", max_target_tokens,
            "Tokens of a target sequence or answer at most, specials included; 0: any.", {Range{.min = 0}, kPrepared});
    v.field("overlong_pairs", overlong_pairs,
            "What happens to training pairs with more tokens than that: drop, truncate their text, or keep.",
            kPrepared);
    v.field("heldout_overlong_pairs", heldout_overlong_pairs,
            "What happens to such pairs of valid and test; dropping or truncating them changes what is scored.",
            kPrepared);
    v.field("heldout_empty_pairs", heldout_empty_pairs,
            "What happens to pairs of valid and test with a side without text: keep, or drop as in the training text.",
            kPrepared);
    v.field("max_unknown_fraction", max_unknown_fraction,
            "Preparation fails if more than this share of a split's tokens is unk.",
            {Range{.min = 0, .max = 1}, kPrepared});
    v.field("shard_tokens", shard_tokens,
            "Tokens in a shard at most (a longer pair has one to itself); preparation holds one shard of each split "
            "in memory.",
            {Range{.min = 1, .max = double(int64_t{1} << 40)}, kPrepared});
    v.field("tokenizer_file", tokenizer_file,
            "A tokenizer that weft saved, to use as it is; the job's tokenizer section is ignored then.", kPrepared);
    v.field("target_tokenizer_file", target_tokenizer_file,
            "A saved tokenizer of the target language, if it has its own.", kPrepared);
    v.field("document_mask", document_mask,
            "Training and evaluation see nothing across the borders of documents (format text, jsonl): attention and "
            "positions start again at each. Changes no prepared dataset.");
  }

  DatasetKind kind() const { return kKindOfFormat[format]; }
  // True if the text lies in columns of Parquet files.
  bool is_parquet() const { return format == TextFormat::Parquet || format == TextFormat::ParquetPromptAnswer; }
  bool is_translation() const { return kind() == DatasetKind::Pairs; }
  // True if a record has two sides: source and target, prompt and answer, or context and what is learnt.
  bool is_pairs() const { return has_two_sides(kind()); }
  // True if each file is one document.
  bool keeps_files_whole() const { return format == TextFormat::Text && document_delimiter == DocumentDelimiter::File; }
  // The datasets to read: the one in `directory`, then those of `mixture`.
  std::vector<DatasetSource> sources() const;
  // ConfigError if fields contradict each other. Touches no file.
  void check() const;
};

// Keys of this section that had other names in earlier versions, as jobs and datasets of those versions store them.
inline constexpr auto kRenamedDataKeys = std::to_array<RenamedKey>({
    {"data.documents", "data.document_delimiter"},
    {"data.max_source", "data.max_source_tokens"},
    {"data.max_target", "data.max_target_tokens"},
    {"data.long_rows", "data.overlong_pairs"},
    {"data.max_unknown", "data.max_unknown_fraction"},
});

}  // namespace weft
