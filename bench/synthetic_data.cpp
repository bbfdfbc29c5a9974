// SPDX-License-Identifier: Apache-2.0
#include "bench/synthetic_data.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"
#include "data/dataset/dataset.h"
#include "job/dataset_checks.h"
#include "job/vocabularies.h"

namespace weft {
namespace {

constexpr int64_t kPairs = 16384;

class RandomReader final : public SequenceReader {
 public:
  RandomReader(const Vocabularies& vocabularies, uint64_t seed)
      : vocabularies_(vocabularies), draw_(hash64("synthetic tokens", seed)) {}
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    fill(s.index, 0, vocabularies_.source, source);
    fill(s.index, 1, vocabularies_.target, target);
  }

 private:
  void fill(int64_t index, uint32_t side, int64_t vocabulary, std::span<int32_t> into) const {
    const auto i = static_cast<uint64_t>(index);
    Philox::Counter bits{};
    for (size_t at = 0; at < into.size(); ++at) {
      if (at % 4 == 0) {
        bits = draw_({static_cast<uint32_t>(at / 4), side, static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32)});
      }
      into[at] = static_cast<int32_t>(uint64_t{bits[at % 4]} * static_cast<uint64_t>(vocabulary) >> 32);
    }
  }

  Vocabularies vocabularies_;
  Philox draw_;
};

Vocabularies find_vocabularies(const JobConfig& job, const Dataset* train, int64_t given) {
  if (given > 0) return {.source = job.is_translation() ? given : 0, .target = given};
  if (const auto known = known_vocabularies(job, train)) return *known;
  throw ConfigError(
      fmt::format("how many tokens the vocabulary of {} has is known only after `weft prepare`", job.name),
      "prepare the job's dataset, or give --vocabulary N");
}

PairLengths read_lengths(const fs::path& path) {
  PairLengths lengths;
  std::istringstream text(read_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream fields(line);
    int64_t source = 0, target = 0;
    std::string more;
    const bool good = fields >> source >> target && !(fields >> more) && source > 0 && target > 0 &&
                      std::max(source, target) < (1 << 24);
    if (!good) {
      throw DataError(fmt::format("{}:{}: expected two numbers from 1, got '{}'", path.string(), number, line),
                      "a line is one pair: source tokens, then target tokens to be predicted");
    }
    lengths.source.push_back(static_cast<int32_t>(source));
    lengths.target.push_back(static_cast<int32_t>(target) + 1);  // with its start token
  }
  if (lengths.source.empty()) throw DataError(fmt::format("{} has no lengths", path.string()));
  return lengths;
}

PairLengths dice_lengths(uint64_t seed, int64_t longest) {
  PairLengths lengths;
  const Philox draw(hash64("synthetic lengths", seed));
  const auto below = [](uint32_t bits, uint64_t bound) { return static_cast<int32_t>(bits * bound >> 32); };
  const auto cut = [&](int64_t length) { return static_cast<int32_t>(std::min(length, longest)); };
  for (uint32_t pair = 0; pair < kPairs; ++pair) {
    const auto dice = draw({pair, 0, 0, 0});
    int32_t source = 4;
    for (const uint32_t bits : dice) source += below(bits, 6);
    const int32_t predicted = source - 2 + below(draw({pair, 1, 0, 0})[0], 5) + 1;
    lengths.source.push_back(cut(source));
    lengths.target.push_back(cut(predicted) + 1);
  }
  return lengths;
}

int64_t longest_of(const PairLengths& lengths) {
  return std::max(*std::ranges::max_element(lengths.source), *std::ranges::max_element(lengths.target) - 1);
}

}  // namespace

std::shared_ptr<const SequenceReader> make_random_reader(const Vocabularies& vocabularies, uint64_t seed) {
  return std::make_shared<RandomReader>(vocabularies, seed);
}

SyntheticData make_synthetic_data(const JobConfig& job, const SyntheticOptions& options) {
  const auto seed = static_cast<uint64_t>(job.seed);
  const BatchConfig& batch = job.batch;
  const auto dataset = prepared_train_split(job);
  if (!options.lengths.empty() && !job.is_translation()) {
    throw ConfigError("windows of a language model are all as long as batch.context_length", "remove --lengths");
  }
  SyntheticData data{.vocabularies = find_vocabularies(job, dataset.get(), options.vocabulary)};
  data.reader = make_random_reader(data.vocabularies, seed);
  if (!options.lengths.empty()) {
    const PairLengths lengths = read_lengths(options.lengths);
    check_longest(longest_of(lengths), job, options.lengths.string(), "give shorter rows");
    data.plan = make_pair_plan(batch, lengths, seed);
    data.lengths = options.lengths.string();
  } else if (dataset) {
    data.plan = make_batch_plan(batch, *dataset, seed);
    data.lengths = dataset->name();
  } else if (job.is_translation()) {
    data.plan = make_pair_plan(batch, dice_lengths(seed, job.model.max_length), seed);
    data.lengths = "four dice, 14 source tokens on average";
  } else {
    const int64_t windows =
        batch.sequences > 0 ? batch.sequences : batch.tokens / std::max<int64_t>(batch.context_length, 1);
    data.plan = make_window_plan(batch, (64 * windows + 1) * batch.context_length + 1, seed);
    data.lengths = fmt::format("windows of {}", batch.context_length);
  }
  return data;
}

}  // namespace weft
