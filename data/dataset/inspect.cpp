// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/inspect.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/progress.h"
#include "data/dataset/dataset.h"
#include "data/dataset/shard.h"
#include "data/dataset/shard_structure.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

namespace {

constexpr int64_t kChunkTokens = int64_t{1} << 20;

std::string describe_side(const char* name, const DatasetSide& side) {
  std::string text = fmt::format("{}: {}, vocabulary {}, hash {}", name, side.tokenizer_file, side.vocabulary,
                                 hash_hex(side.tokenizer_hash));
  const auto add = [&](const char* role, const std::optional<int32_t>& id) {
    if (id) text += fmt::format(", {} {}", role, *id);
  };
  add("bos", side.bos), add("eos", side.eos), add("pad", side.pad), add("unk", side.unk);
  return text + "\n";
}

std::string describe_counts(const char* side, const SideCounts& counts, int64_t records) {
  std::string text = fmt::format("  {}{} tokens", side, counts.tokens);
  if (counts.longest > 0) {
    text += fmt::format(", {:.1f} a sequence, longest {}",
                        double(counts.tokens) / double(std::max<int64_t>(records, 1)), counts.longest);
  }
  const double share = counts.text_tokens == 0 ? 0 : 100 * double(counts.unknown) / double(counts.text_tokens);
  return text + fmt::format(", unk {:.3f} %, entropy {:.3f} bits a token\n", share, counts.entropy);
}

// Counts that may point to a mistake, a line for each that is not 0. `trained_on`: the training text kept the records
// that are held out too.
std::string describe_odd(const SplitEntry& split, const char* record, bool trained_on) {
  std::string text;
  const auto add = [&](int64_t count, const char* singular, const char* plural, const char* what) {
    if (count > 0) text += fmt::format("  {} {} {}\n", counted(count, record), count == 1 ? singular : plural, what);
  };
  add(split.invalid_utf8, "is", "are", "not valid UTF-8: is the text of another encoding?");
  add(split.duplicates, "is", "are", "equal to an earlier one");
  if (trained_on) {
    add(split.in_train, "is", "are", "in the training text too");
  } else {
    const bool one = split.in_train == 1;
    add(split.in_train, "was", "were",
        one ? "in the training text too, which lost it" : "in the training text too, which lost them");
  }
  add(split.dropped_duplicate, "was", "were", "left out: equal to an earlier one, or to one that is held out");
  return text;
}

std::string describe_skipped(const SkippedRecords& skipped) {
  if (skipped.count() == 0) return {};
  std::string text = fmt::format("bad records left out: {}\n", skipped.count());
  for (const auto& [reason, count] : skipped.reasons) text += fmt::format("  {} x {}\n", count, reason);
  for (const std::string& first : skipped.first) text += fmt::format("  such as {}\n", first);
  return text;
}

// Turns a DataError of `check` into a finding. Returns true if there was one.
template <class F>
bool finds(std::vector<std::string>& findings, F&& check) {
  try {
    check();
    return false;
  } catch (const DataError& error) {
    findings.emplace_back(error.what());
    return true;
  }
}

void read_everything(const Dataset& dataset) {
  std::vector<int32_t> ids;
  if (dataset.header().kind == DatasetKind::Stream) {
    for (int64_t at = 0; at < dataset.num_tokens(); at += kChunkTokens) {
      ids.resize(static_cast<size_t>(std::min(kChunkTokens, dataset.num_tokens() - at)));
      dataset.read_tokens(at, ids);
    }
    for (int64_t i = 0; i < dataset.header().num_documents; ++i) dataset.document_begin(i);
    return;
  }
  for (int64_t pair = 0; pair < dataset.num_pairs(); ++pair) {
    ids.resize(static_cast<size_t>(dataset.source_length(pair)));
    dataset.read_source(pair, ids);
    ids.resize(static_cast<size_t>(dataset.target_length(pair)));
    dataset.read_target(pair, ids);
    if (dataset.header().kind == DatasetKind::Chats) {
      dataset.read_turns(pair);
    } else if (dataset.header().references) {
      dataset.read_reference(pair);
    }
  }
}

}  // namespace

std::string describe_splits(const Manifest& manifest) {
  const bool pairs = has_two_sides(manifest.kind);
  const char* record = pairs ? "pair" : "document";
  const auto train = manifest.splits.find(DataSplit::Train);
  const bool dropped = train != manifest.splits.end() && train->second.dropped_duplicate > 0;
  std::string text;
  for (const auto& [name, split] : manifest.splits) {
    text += fmt::format("{}: {} in {}", enum_name(name), counted(split.records, record),
                        counted(static_cast<int64_t>(split.shards.size()), "shard"));
    if (pairs) {
      text += fmt::format("; dropped {} without text and {} too long, truncated {}", split.dropped_empty,
                          split.dropped_long, split.truncated);
      if (split.references && manifest.kind == DatasetKind::Pairs) text += "; with the text of its references";
    }
    text += '\n';
    text += describe_odd(split, record, !dropped);
    text += describe_counts(pairs ? "source " : "", split.source, split.records);
    if (pairs) text += describe_counts("target ", split.target, split.records);
  }
  text += describe_skipped(manifest.skipped);
  return text;
}

std::string describe_dataset(const fs::path& directory) {
  const Manifest manifest = read_manifest(directory);
  for (const auto& [name, split] : manifest.splits) Dataset::open(directory, name);
  const bool pairs = has_two_sides(manifest.kind);
  std::string text = fmt::format("weft dataset {}, version {}, {}, ids of {} bytes\n", directory.string(),
                                 manifest.version, enum_name(manifest.kind), manifest.token_bytes);
  text += describe_side(pairs ? "source" : "tokenizer", manifest.source);
  if (pairs) text += describe_side("target", manifest.target);
  text += describe_splits(manifest);
  text += "made from:\n";
  for (const InputEntry& input : manifest.inputs) {
    text += fmt::format("  {}, {} bytes, {}\n", input.path, input.bytes, hash_hex(input.checksum));
  }
  return text;
}

std::vector<std::string> verify_dataset(const fs::path& directory,
                                        const std::function<void(uint64_t, uint64_t)>& tick) {
  const Manifest manifest = read_manifest(directory);
  std::vector<std::string> findings;
  uint64_t done = 0, total = 0;
  for (const auto& [name, split] : manifest.splits) {
    for (const ShardEntry& shard : split.shards) total += shard.bytes;
  }
  for (const auto& [name, split] : manifest.splits) {
    bool damaged = false;
    for (const ShardEntry& shard : split.shards) {
      const fs::path path = directory / shard.file;
      damaged |= finds(findings, [&] {
        const File file(path, File::Mode::Read);
        require<DataError>(file.size() == shard.bytes, "{}: {} bytes, but the dataset's manifest says {}",
                           path.string(), file.size(), shard.bytes);
        require<DataError>(file_checksum(file) == shard.checksum,
                           "{} is damaged: its content does not fit its checksum", path.string());
        check_hdf5(path, shard, identity_of(manifest, name));
      });
      done += shard.bytes;
      if (tick) tick(done, total);
    }
    if (!damaged) finds(findings, [&] { read_everything(Dataset::open(directory, name)); });
  }
  for (const DatasetSide* side : {&manifest.source, &manifest.target}) {
    if (side == &manifest.target && side->tokenizer_file == manifest.source.tokenizer_file) continue;
    finds(findings, [&] {
      const fs::path path = directory / side->tokenizer_file;
      require<DataError>(Tokenizer::load(path)->hash() == side->tokenizer_hash,
                         "{} is not the tokenizer that made this dataset", path.string());
    });
  }
  return findings;
}

}  // namespace weft
