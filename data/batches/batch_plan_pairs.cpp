// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan_pairs.h"

// Training plans over pairs of a source and a target, by shuffled or bucketed groups.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include "base/divide_up.h"
#include "base/error.h"
#include "base/progress.h"
#include "data/batches/permutation.h"

namespace weft {

void check_pair_count(const PairLengths& lengths) {
  const size_t pairs = lengths.source.size();
  require<InternalError>(pairs == lengths.target.size(), "batch plan: {} sources, {} targets", pairs,
                         lengths.target.size());
  require<DataError>(pairs > 0, "batch plan: the split has no pairs");
  require<DataError>(pairs < std::numeric_limits<uint32_t>::max(), "batch plan: {} pairs; at most 2^32 - 2 fit", pairs);
}

PlannedSequence planned_pair(const PairLengths& lengths, int64_t pair) {
  if (lengths.joined) {
    return {.index = pair,
            .input_tokens = lengths.source[pair] + lengths.target[pair] - 1,
            .unscored = lengths.source[pair] - 1};
  }
  return {.index = pair, .source_tokens = lengths.source[pair], .input_tokens = lengths.target[pair] - 1};
}

namespace {

void check_lengths(const PairLengths& lengths) {
  check_pair_count(lengths);
  for (size_t i = 0; i < lengths.source.size(); ++i) {
    require<DataError>(lengths.source[i] >= 1, "pair {}: its source is empty", i);
    if (lengths.joined) continue;
    require<DataError>(lengths.target[i] >= 2, "pair {}: its target has {} tokens; 2 are needed to predict one", i,
                       lengths.target[i]);
  }
}

// The first `count` of [0, n) in random order (Fisher and Yates).
std::vector<uint32_t> first_of_shuffled(uint32_t n, int64_t count, uint64_t key) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const Philox draw(key);
  for (uint32_t i = 0; i < count; ++i) std::swap(order[i], order[i + uniform_below(n - i, draw({i, 0, 0, 0}))]);
  return order;
}

// The tokens of a group of pairs, as its budget counts them.
class GroupSize {
 public:
  explicit GroupSize(TokenCount count) : count_(count) {}

  int64_t with(const PlannedSequence& s) const {
    switch (count_) {
      case TokenCount::Target:
        return sum_ + s.input_tokens;
      case TokenCount::Total:
        return sum_ + s.tokens();
      case TokenCount::Padded:
        return (pairs_ + 1) * std::max<int64_t>(longest_, std::max(s.source_tokens, s.input_tokens));
    }
    throw InternalError("unknown token count");
  }
  void add(const PlannedSequence& s) {
    sum_ += count_ == TokenCount::Target ? s.input_tokens : s.tokens();
    longest_ = std::max<int64_t>(longest_, std::max(s.source_tokens, s.input_tokens));
    ++pairs_;
  }

 private:
  TokenCount count_;
  int64_t sum_ = 0;
  int64_t longest_ = 0;
  int64_t pairs_ = 0;
};

// One epoch. Groups are cut from `order`; step s takes buckets_per_step of them, from s x buckets_per_step, permuted.
struct PairEpoch {
  std::vector<uint32_t> order;
  std::vector<int64_t> group_begin;  // groups + 1
  Permutation permute{0, 0};         // order of the groups; unused if the pairs are in random order already
  int64_t steps = 0;
  int64_t groups() const { return static_cast<int64_t>(group_begin.size()) - 1; }
};

class PairPlan final : public BatchPlan {
 public:
  PairPlan(const BatchConfig& config, PairLengths lengths, uint64_t seed)
      : config_(config), lengths_(std::move(lengths)), seed_(seed), mixture_(mixture_of(lengths_)) {
    const auto first = epoch(0);
    first_steps_ = first->steps;
    if (count_steps(*first) > 0) return;
    throw DataError(fmt::format("the split's {} pairs do not fill one step", lengths_.source.size()),
                    "lower batch.sequences or batch.tokens, or set batch.drop_last: false");
  }

  int64_t steps_per_epoch(int64_t e) const override { return same_steps() ? first_steps_ : epoch(e)->steps; }
  int64_t sequences_per_epoch() const override { return mixture_.records(); }
  const MixtureOrder* mixture() const override { return &mixture_; }

  PlannedStep step(int64_t e, int64_t step_in_epoch) const override { return step(*epoch(e), e, step_in_epoch); }

  int64_t largest_step(int64_t e) const override {
    const auto index = epoch(e);
    int64_t largest = 0, most = -1;
    for (int64_t s = 0; s < index->steps; ++s) {
      int64_t tokens = 0;
      for_each_group(*index, s, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) tokens += planned_pair(lengths_, index->order[i]).tokens();
      });
      if (tokens > most) {
        most = tokens;
        largest = s;
      }
    }
    return largest;
  }

  std::string order_text() const override {
    const char* once = mixture_.parts() == 1 ? "each once an epoch" : "each once an epoch of its dataset";
    if (!bucketed()) return fmt::format("pairs{} in random order, {}", mixture_.text(), once);
    return fmt::format("pairs{} of similar length together, {}, {} a step", mixture_.text(), once,
                       counted(config_.buckets_per_step, "group"));
  }

 private:
  bool bucketed() const { return config_.order == BatchOrder::Bucketed; }
  // Epochs have equal numbers of steps if a step is a count of pairs, or if sorted pairs are cut at the same lengths,
  // which holds without a mixture. For any other plan an epoch must be built to count its steps.
  bool same_steps() const { return (bucketed() && mixture_.parts() == 1) || config_.sequences > 0; }

  static MixtureOrder mixture_of(const PairLengths& lengths) {
    const MixturePart all{.records = static_cast<int64_t>(lengths.source.size())};
    return lengths.parts.empty() ? MixtureOrder({&all, 1}) : MixtureOrder(lengths.parts);
  }

  template <class F>
  void for_each_group(const PairEpoch& index, int64_t s, F&& visit) const {
    const int64_t end = std::min((s + 1) * config_.buckets_per_step, index.groups());
    for (int64_t g = s * config_.buckets_per_step; g < end; ++g) {
      const int64_t group = bucketed() ? static_cast<int64_t>(index.permute(g)) : g;
      visit(index.group_begin[group], index.group_begin[group + 1]);
    }
  }

  PlannedStep step(const PairEpoch& index, int64_t e, int64_t s) const {
    check_step(s, index.steps);
    PlannedStep result{.epoch = e, .step_in_epoch = s};
    for_each_group(index, s, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) result.sequences.push_back(planned_pair(lengths_, index.order[i]));
    });
    return result;
  }

  // The loader may read the next epoch while other threads use this one, so two epochs are kept. No thread waits for
  // another to sort an epoch: two threads that need the same one both sort it, to the same result.
  std::shared_ptr<const PairEpoch> epoch(int64_t e) const {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = epochs_.find(e); found != epochs_.end()) return found->second;
    }
    auto built = build(e);
    const std::lock_guard lock(mutex_);
    epochs_[e] = built;
    while (epochs_.size() > 2) epochs_.erase(epochs_.begin()->first == e ? std::prev(epochs_.end()) : epochs_.begin());
    return built;
  }

  std::shared_ptr<const PairEpoch> build(int64_t e) const {
    auto index = std::make_shared<PairEpoch>();
    index->order = order(e);
    index->group_begin = cut(index->order);
    index->permute = Permutation(index->groups(), derive_key(seed_, DataStream::GroupOrder, e));
    // A token budget may cut epochs into different numbers of steps, some epochs of a small split into no full step.
    index->steps = std::max<int64_t>(1, count_steps(*index));
    return index;
  }

  int64_t count_steps(const PairEpoch& index) const {
    const int64_t groups = index.groups();
    if (!config_.drop_last) return divide_up(groups, config_.buckets_per_step);
    // Bucketed with `sequences`: order() left the remainder out, every group is full.
    if (bucketed()) return groups / config_.buckets_per_step;
    const bool full = config_.sequences > 0 && static_cast<int64_t>(index.order.size()) % config_.sequences == 0;
    return full ? groups : groups - 1;
  }

  std::vector<uint32_t> members(int64_t e) const;
  std::vector<uint32_t> order(int64_t e) const;
  std::vector<bool> left_out(int64_t e) const;
  std::vector<int64_t> cut(const std::vector<uint32_t>& order) const;

  BatchConfig config_;
  PairLengths lengths_;
  uint64_t seed_;
  MixtureOrder mixture_;
  int64_t first_steps_ = 0;  // steps of epoch 0
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::shared_ptr<const PairEpoch>> epochs_;
};

// With drop_last, groups of similar length and a fixed count, the pairs that do not fill a step are chosen at random
// in every epoch: cutting the tail off would always lose the longest pairs.
std::vector<bool> PairPlan::left_out(int64_t e) const {
  const int64_t pairs = mixture_.records();
  std::vector<bool> out(pairs, false);
  if (!bucketed() || !config_.drop_last || config_.sequences == 0) return out;
  const Permutation chosen(pairs, derive_key(seed_, DataStream::PairRemainder, e));
  for (int64_t i = 0; i < pairs % config_.sequences; ++i) out[chosen(i)] = true;
  return out;
}

// The pairs of an epoch. In a mixture each part gives its share of them, some perhaps several times.
std::vector<uint32_t> PairPlan::members(int64_t e) const {
  std::vector<uint32_t> pairs(mixture_.records());
  if (mixture_.parts() == 1) {
    std::iota(pairs.begin(), pairs.end(), 0);
    return pairs;
  }
  std::vector<uint32_t> begins{0};
  for (const MixturePart& part : lengths_.parts) begins.push_back(begins.back() + static_cast<uint32_t>(part.records));
  // The current epoch of each part, and the order of the part's pairs in that epoch.
  std::vector<std::pair<int64_t, std::vector<uint32_t>>> orders(mixture_.parts(), {-1, {}});
  for (int64_t slot = 0; slot < std::ssize(pairs); ++slot) {
    const auto [part, epoch, place] = mixture_.at(e, slot);
    auto& [current, order] = orders[part];
    if (current != epoch) {
      const int64_t all = mixture_.records(part), needed = (e + 1) * mixture_.taken(part) - epoch * all;
      const uint64_t key = derive_key(seed_of_part(seed_, part), DataStream::MixtureOrder, epoch);
      order = first_of_shuffled(static_cast<uint32_t>(all), std::min(all, needed), key);
      current = epoch;
    }
    pairs[slot] = begins[part] + order[place];
  }
  return pairs;
}

std::vector<uint32_t> PairPlan::order(int64_t e) const {
  struct Key {
    uint64_t lengths;  // target and source lengths; 0 if the order is random
    uint32_t noise;
    uint32_t pair;
    auto operator<=>(const Key&) const = default;
  };
  const auto out = left_out(e);
  const std::vector<uint32_t> pairs = members(e);
  const Philox noise(derive_key(seed_, DataStream::PairOrder, e));
  std::vector<Key> keys;
  keys.reserve(out.size());
  for (uint32_t i = 0; i < out.size(); ++i) {
    if (out[i]) continue;
    const uint32_t pair = pairs[i];
    uint64_t lengths = 0;
    if (bucketed()) {
      lengths = static_cast<uint64_t>(planned_pair(lengths_, pair).input_tokens) << 32;
      // If sources count against the budget, their lengths must be similar too; if not, chance decides among equal
      // targets, which mixes the groups more.
      const bool sources_count = config_.tokens > 0 && config_.token_count != TokenCount::Target;
      if (sources_count) lengths |= static_cast<uint32_t>(lengths_.source[pair]);
    }
    // A mixture deals each dataset in random order already, and mixes them evenly only if that order is kept.
    const bool as_dealt = !bucketed() && mixture_.parts() > 1;
    keys.push_back({lengths, as_dealt ? i : noise({i, 0, 0, 0})[0], pair});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> result(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) result[i] = keys[i].pair;
  return result;
}

std::vector<int64_t> PairPlan::cut(const std::vector<uint32_t>& order) const {
  const int64_t pairs = static_cast<int64_t>(order.size());
  std::vector<int64_t> begin{0};
  if (config_.sequences > 0) {
    const int64_t group = config_.sequences / config_.buckets_per_step;
    for (int64_t i = group; i < pairs; i += group) begin.push_back(i);
  } else {
    const int64_t budget = config_.tokens / config_.buckets_per_step;
    GroupSize size(config_.token_count);
    for (int64_t i = 0; i < pairs; ++i) {
      const PlannedSequence s = planned_pair(lengths_, order[i]);
      if (size.with(s) > budget && i > begin.back()) {
        begin.push_back(i);
        size = GroupSize(config_.token_count);
      }
      size.add(s);
    }
  }
  if (pairs > 0) begin.push_back(pairs);
  return begin;
}

}  // namespace

std::shared_ptr<const BatchPlan> make_pair_plan(const BatchConfig& config, PairLengths lengths, uint64_t seed) {
  config.check_for_pairs();
  check_lengths(lengths);
  return std::make_shared<PairPlan>(config, std::move(lengths), seed);
}

}  // namespace weft
