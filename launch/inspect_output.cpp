// SPDX-License-Identifier: Apache-2.0
#include "launch/inspect_output.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"
#include "checkpoint/folder_contents.h"
#include "checkpoint/locate.h"
#include "checkpoint/reader.h"
#include "data/dataset/inspect.h"
#include "data/dataset/manifest.h"
#include "data/dataset/statistics.h"
#include "data/tokenizer/tokenizer.h"
#include "launch/json_line.h"
#include "pages/page.h"
#include "pages/statistics_page.h"
#include "trainer/run/provenance.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kPercents = {5, 25, 50, 75, 95, 100};

double share(int64_t part, int64_t all) {
  return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

double per(int64_t a, int64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

std::string table_row(const char* name, const Distribution& lengths) {
  std::string text = fmt::format("    {:<8}", name);
  for (const int percent : kPercents) text += fmt::format(" {:>8}", lengths.percentile(percent));
  return text + fmt::format(" {:>10.2f}\n", lengths.mean());
}

std::string describe_lengths(const SideStatistics& side) {
  std::string text = "    per text";
  for (const int percent : kPercents) text += fmt::format(" {:>6} %", percent);
  text += fmt::format(" {:>10}\n", "mean") + table_row("tokens", side.tokens);
  if (side.sizes) text += table_row("words", side.sizes->words) + table_row("bytes", side.sizes->bytes);
  return text;
}

// A token in quotes, escaped so that spaces and parts of characters show.
std::string quoted(const std::string& token) { return json_line(Json(token)); }

std::string describe_side(const char* name, const SideStatistics& side) {
  const int64_t tokens = side.tokens.sum();
  std::string text = fmt::format("  {}: {} tokens", name, tokens);
  if (side.sizes) {
    const int64_t words = side.sizes->words.sum(), bytes = side.sizes->bytes.sum();
    text += fmt::format(", {} words, {} bytes: {:.3f} tokens a word, {:.3f} bytes a token", words, bytes,
                        per(tokens, words), per(bytes, tokens));
  } else {
    text += "; words and bytes are not known, since some text is unknown to the tokenizer";
  }
  text += "\n" + describe_lengths(side);
  text += fmt::format("    distinct tokens: {} of the vocabulary's {} ({:.1f} %)\n", side.distinct, side.vocabulary,
                      share(side.distinct, side.vocabulary));
  text += "    after tokens:";
  for (const DistinctTokens& point : side.growth) text += fmt::format(" {}: {}", point.tokens, point.distinct);
  text += "\n    most frequent:";
  for (const FrequentToken& token : side.frequent)
    text += fmt::format("\n      {:>8} {:>10} {:>7.3f} %  {}", token.id, token.count, share(token.count, tokens),
                        quoted(token.text));
  return text + "\n";
}

std::string describe(const SplitStatistics& split) {
  if (!split.target) {
    return fmt::format("{}: {}\n", enum_name(split.split), counted(split.source.tokens.count(), "document")) +
           describe_side("text", split.source);
  }
  const SideStatistics &source = split.source, &target = *split.target;
  std::string text = fmt::format("{}: {}\n", enum_name(split.split), counted(source.tokens.count(), "pair")) +
                     describe_side("source", source) + describe_side("target", target);
  const PairStatistics& both = *split.both;
  text += fmt::format("  both: {} tokens occur on both sides, {:.1f} % of the source's and {:.1f} % of the target's\n",
                      both.shared, share(both.shared, source.distinct), share(both.shared, target.distinct));
  text += fmt::format("    tokens of the target for one of the source: {:.3f} in all; of pairs",
                      per(target.tokens.sum(), source.tokens.sum()));
  for (const int percent : kPercents)
    text += fmt::format(" {} %: {:.2f}", percent, static_cast<double>(both.ratio_percent.percentile(percent)) / 100);
  return text + "\n";
}

Json json_of(const Distribution& values) {
  Json json;
  for (const int percent : kPercents) json[std::to_string(percent)] = values.percentile(percent);
  json["mean"] = values.mean();
  return json;
}

Json json_of(const SideStatistics& side) {
  Json json{{"tokens", side.tokens.sum()},   {"words", nullptr},          {"bytes", nullptr},
            {"vocabulary", side.vocabulary}, {"distinct", side.distinct}, {"tokens_per_text", json_of(side.tokens)}};
  if (side.sizes) {
    json["words"] = side.sizes->words.sum();
    json["bytes"] = side.sizes->bytes.sum();
    json["words_per_text"] = json_of(side.sizes->words);
    json["bytes_per_text"] = json_of(side.sizes->bytes);
  }
  Json& growth = json["growth"] = Json::array();
  for (const auto& [tokens, distinct] : side.growth) growth.push_back({tokens, distinct});
  Json& frequent = json["frequent"] = Json::array();
  for (const auto& [id, count, text] : side.frequent)
    frequent.push_back({{"id", id}, {"count", count}, {"text", text}});
  return json;
}

Json json_of(const SplitStatistics& split) {
  Json json{{"texts", split.source.tokens.count()}};
  if (!split.target) {
    json["text"] = json_of(split.source);
    return json;
  }
  json["source"] = json_of(split.source);
  json["target"] = json_of(*split.target);
  json["shared"] = split.both->shared;
  json["target_percent_of_source"] = json_of(split.both->ratio_percent);
  return json;
}

// One line.
std::string json_text(const fs::path& dataset, const std::vector<SplitStatistics>& splits) {
  Json json{{"dataset", dataset.string()}, {"kind", enum_name(splits.front().kind)}};
  for (const SplitStatistics& split : splits) json["splits"][std::string(enum_name(split.split))] = json_of(split);
  return json_line(json) + "\n";
}

std::string describe_digest(const CheckpointManifest& m) {
  if (!m.digest) return "no digest: an earlier weft saved it\n";
  if (!m.save_before) return fmt::format("digest {}\n", hash_hex(*m.digest));
  return fmt::format("digest {}, after {} at step {}\n", hash_hex(*m.digest), hash_hex(m.save_before->digest),
                     m.save_before->step);
}

}  // namespace

void print_checkpoint(const fs::path& path, bool verify, bool with_job) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& m = checkpoint.manifest();
  print(fmt::format("checkpoint {}: step {}\nstate {}\nfingerprint {}\n", path.string(), m.step, m.state.dump(),
                    m.fingerprint.dump()));
  print(describe_digest(m));
  print(describe_provenance(m.provenance));
  if (with_job) print("job\n" + m.job);
  uint64_t bytes = 0;
  for (const CheckpointFile& file : m.files) bytes += file.bytes;
  const auto tensors = checkpoint.tensors();
  std::string text = fmt::format("{}, {:.1f} MiB, {}\n", counted(std::ssize(m.files), "file"),
                                 static_cast<double>(bytes) / (1 << 20), counted(std::ssize(tensors), "tensor"));
  for (const auto& [name, shape] : tensors) text += fmt::format("  {:<48} {}\n", name, shape.text());
  print(text);
  if (!verify) return;
  verify_checkpoint(path, m);
  print(m.digest ? "every checksum is right, and so is the digest\n" : "every checksum is right\n");
}

void print_directory(const fs::path& path, bool verify, bool with_job) {
  const bool lists = !verify && !with_job && checkpoints_at(path).empty();
  const std::string contents = lists ? describe_contents(path) : "";
  if (!contents.empty()) return print(contents);
  print_checkpoint(resolve_checkpoint(path, false), verify, with_job);
}

void print_tokenizer(const fs::path& path) {
  const auto tokenizer = Tokenizer::load(path);
  std::string text = fmt::format("tokenizer {}: {}, {} ids, hash {:016x}\n", path.string(), tokenizer->kind(),
                                 tokenizer->vocabulary(), tokenizer->hash());
  for (const SpecialToken& s : tokenizer->specials()) {
    text += fmt::format("  {:8}  {}{}\n", s.id, s.name, s.in_text ? " (found in all text)" : "");
  }
  print(text);
}

void print_verified(const fs::path& path) {
  const std::vector<std::string> findings = verify_dataset(path);
  if (!findings.empty())
    throw DataError(fmt::format("{}: {}", path.string(), fmt::join(findings, "\n  ")), "prepare it again");
  print("every checksum is right\n");
}

void add_statistics_options(Command& command, StatisticsOptions& options, Option show) {
  Option wanted =
      command.add_flag("--statistics", options.wanted,
                       "With a dataset: lengths of texts in tokens, words and bytes, and which tokens occur how often");
  wanted.excludes(show);
  command.add_flag("--json", options.json, "The statistics as one JSON object").needs(wanted);
  command.add_option("--top", options.frequent, "Tokens that --statistics lists as the most frequent")
      .not_negative()
      .needs(wanted)
      .type_name("N");
  command
      .add_option(
          "--out", options.out,
          "A page of the statistics for a browser, instead of their text. A page of weft is replaced, nothing else is")
      .needs(wanted)
      .type_name("FILE");
}

void print_statistics(const fs::path& dataset, const StatisticsOptions& options) {
  if (!options.out.empty()) require_replaceable(options.out);
  const std::vector<SplitStatistics> splits = dataset_statistics(dataset, options.frequent);
  if (!options.out.empty()) {
    write_page(options.out, statistics_page(dataset.string(), splits));
    log_info("wrote {}; open it in a browser", options.out);
  }
  if (options.json) return print(json_text(dataset, splits));
  if (!options.out.empty()) return;
  for (const SplitStatistics& split : splits) print(describe(split));
}

}  // namespace weft
