// SPDX-License-Identifier: Apache-2.0
#include "data/batches/loader.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/process/new_thread.h"
#include "data/batches/batch_plan_slice.h"
#include "data/batches/padded_shape.h"
#include "data/dataset/dataset.h"
#include "data/dataset/turns.h"

namespace weft {
namespace {

class StreamReader final : public SequenceReader {
 public:
  StreamReader(std::shared_ptr<const Dataset> dataset, const ReadOptions& options) : dataset_(std::move(dataset)) {
    if (options.document_mask) cut_before_ = end_of_documents(*dataset_);
  }
  void read(const PlannedSequence& s, std::span<int32_t>, std::span<int32_t> target) const override {
    dataset_->read_tokens(s.index, target);
  }
  std::optional<int32_t> cut_before() const override { return cut_before_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
  std::optional<int32_t> cut_before_;
};

class PairReader final : public SequenceReader {
 public:
  explicit PairReader(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    dataset_->read_source(s.index, source);
    dataset_->read_target(s.index, target);
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
};

// A prompt and its answer: the prompt's last token predicts the answer's first.
class AnswerReader : public SequenceReader {
 public:
  explicit AnswerReader(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  void read(const PlannedSequence& s, std::span<int32_t>, std::span<int32_t> target) const override {
    const auto prompt = static_cast<size_t>(s.unscored) + 1;
    dataset_->read_source(s.index, target.first(prompt));
    dataset_->read_target(s.index, target.subspan(prompt));
  }

 protected:
  std::shared_ptr<const Dataset> dataset_;
};

// A conversation: all that is context, then all that is learnt, as a prompt and its answer, but for their turns.
class ChatReader final : public AnswerReader {
 public:
  using AnswerReader::AnswerReader;
  std::vector<int32_t> turns(const PlannedSequence& s) const override { return dataset_->read_turns(s.index); }
};

// Puts the tokens of a conversation, all that are context before all that are learnt, into the order of its turns.
std::vector<int32_t> in_turns(std::span<const int32_t> turns, const PlannedSequence& s,
                              std::span<const int32_t> tokens) {
  const auto context = static_cast<size_t>(s.unscored) + 1;
  std::span<const int32_t> of_kind[] = {tokens.first(context), tokens.subspan(context)};
  std::vector<int32_t> ordered;
  for_each_turn(turns, [&](bool is_learnt, size_t, size_t count) {
    std::span<const int32_t>& rest = of_kind[is_learnt];
    ordered.insert(ordered.end(), rest.begin(), rest.begin() + static_cast<ptrdiff_t>(count));
    rest = rest.subspan(count);
  });
  return ordered;
}

// Puts -1 for the targets of context: without turns for the first ones. Target i is token i + 1.
void leave_unscored(std::span<const int32_t> turns, const PlannedSequence& s, std::span<int32_t> targets) {
  if (turns.empty()) std::ranges::fill(targets.first(static_cast<size_t>(s.unscored)), -1);
  for_each_turn(turns, [&](bool is_learnt, size_t begin, size_t count) {
    const size_t skipped = begin == 0 ? 1 : 0;  // nothing predicts the first token
    if (!is_learnt) std::ranges::fill(targets.subspan(begin + skipped - 1, count - skipped), -1);
  });
}

// Starts a new sequence at each input that equals `before`, except at the first input.
void cut(MicroBatch& micro, std::span<const int32_t> inputs, int32_t before) {
  const auto begin = static_cast<int32_t>(micro.input.tokens.size());
  const int64_t id = micro.sequence_ids.back();
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] != before) continue;
    micro.input.offsets.push_back(begin + static_cast<int32_t>(i));
    micro.sequence_ids.push_back(id + static_cast<int64_t>(i));
  }
}

MicroBatch read_micro_batch(const PlannedStep& step, std::span<const int64_t> places, const SequenceReader& reader) {
  MicroBatch micro;
  const int64_t longest_window = step.sequences.front().input_tokens;
  int64_t source_tokens = 0, input_tokens = 0;
  for (int64_t place : places) {
    source_tokens += step.sequences[place].source_tokens;
    input_tokens += step.sequences[place].input_tokens;
  }
  micro.source.tokens.resize(source_tokens);
  micro.input.tokens.reserve(input_tokens);
  micro.targets.reserve(input_tokens);
  micro.input.offsets.push_back(0);
  if (source_tokens > 0) micro.source.offsets.push_back(0);

  int64_t source_at = 0;
  std::vector<int32_t> tokens;
  const std::optional<int32_t> cut_before = reader.cut_before();
  for (int64_t place : places) {
    const PlannedSequence& s = step.sequences[place];
    micro.sequence_ids.push_back(cut_before ? place * longest_window : place);
    tokens.resize(s.input_tokens + 1);
    reader.read(s, std::span(micro.source.tokens).subspan(source_at, s.source_tokens), tokens);
    const std::vector<int32_t> turns = reader.turns(s);
    if (!turns.empty()) tokens = in_turns(turns, s, tokens);
    source_at += s.source_tokens;
    if (source_tokens > 0) micro.source.offsets.push_back(static_cast<int32_t>(source_at));
    if (cut_before) cut(micro, std::span(tokens).first(s.input_tokens), *cut_before);
    micro.input.tokens.insert(micro.input.tokens.end(), tokens.begin(), tokens.end() - 1);
    micro.input.offsets.push_back(static_cast<int32_t>(micro.input.tokens.size()));
    micro.targets.insert(micro.targets.end(), tokens.begin() + 1, tokens.end());
    leave_unscored(turns, s, std::span(micro.targets).last(static_cast<size_t>(s.input_tokens)));
  }
  return micro;
}

}  // namespace

int32_t end_of_documents(const Dataset& dataset) {
  if (const std::optional<int32_t> eos = dataset.header().target.eos) return *eos;
  throw DataError(fmt::format("data.document_mask: the documents of {} have no end token between them", dataset.name()),
                  "prepare it with a tokenizer that has an eos, or set data.document_mask to false");
}

std::shared_ptr<const SequenceReader> make_reader(std::shared_ptr<const Dataset> dataset, const ReadOptions& options) {
  if (dataset->header().kind == DatasetKind::Stream) return std::make_shared<StreamReader>(std::move(dataset), options);
  if (dataset->header().kind == DatasetKind::Answers) return std::make_shared<AnswerReader>(std::move(dataset));
  if (dataset->header().kind == DatasetKind::Chats) return std::make_shared<ChatReader>(std::move(dataset));
  return std::make_shared<PairReader>(std::move(dataset));
}

namespace {

template <class T>
uint64_t hash_of(const std::vector<T>& values) {
  return hash64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

uint64_t hash_of_lengths(const PlannedStep& step) {
  std::vector<int32_t> lengths;
  lengths.reserve(2 * step.sequences.size());
  for (const PlannedSequence& s : step.sequences) lengths.insert(lengths.end(), {s.source_tokens, s.input_tokens});
  return hash_of(lengths);
}

// Every rank computes the shapes of all ranks' micro-batches: collectives, and graphs of them, need them to be the
// same.
void pad(const PlannedStep& step, const std::vector<std::vector<std::vector<int64_t>>>& all, StepBatches& batches) {
  std::vector<BatchShape> shapes;
  std::vector<int64_t> key;
  for (const auto& parts : all) {
    key.push_back(std::ssize(parts));
    for (const auto& places : parts) shapes.push_back(shape_of(step, places));
  }
  const int64_t longest = longest_sequence(step);
  const BatchShape bucket = bucket_of(shapes, longest);
  key.insert(key.end(), {bucket.sequences, bucket.source_rows, bucket.input_rows});
  batches.bucket = bucket;
  batches.shape = hash_of(key);
  batches.padding_rows = bucket.rows() * std::ssize(shapes) - step.tokens();
  for (MicroBatch& micro : batches.micro) pad_to(bucket, longest, micro);
}

// The places of this rank's micro-batches; sets what `batches` says of all ranks' and of leaves. Other ranks' shares
// are counted, not cut, since there may be thousands of them.
std::vector<std::vector<int64_t>> cut_for(const PlannedStep& step, int64_t dp_rank, int64_t dp_size, int64_t max_tokens,
                                          StepCut cut, StepBatches& batches) {
  if (cut == StepCut::Shares) {
    const auto slices = slice_all(step, dp_size);
    for (const auto& slice : slices) {
      batches.most_micro = std::max(batches.most_micro, count_micro_batches(step, slice, max_tokens));
    }
    return cut_micro_batches(step, slices[static_cast<size_t>(dp_rank)], max_tokens);
  }
  const auto leaves = cut_leaves(step, max_tokens);
  const auto shares = share_leaves(step, leaves, dp_size);
  batches.leaves = std::ssize(leaves);
  for (const auto& share : shares) batches.most_micro = std::max(batches.most_micro, std::ssize(share));
  batches.leaf = shares[static_cast<size_t>(dp_rank)];
  std::vector<std::vector<int64_t>> mine;
  for (int64_t leaf : batches.leaf) mine.push_back(leaves[static_cast<size_t>(leaf)]);
  return mine;
}

}  // namespace

StepBatches read_step(const PlannedStep& step, const SequenceReader& reader, int64_t dp_rank, int64_t dp_size,
                      int64_t micro_batch_tokens, Padding padding, StepCut cut) {
  StepBatches result{.epoch = step.epoch,
                     .step_in_epoch = step.step_in_epoch,
                     .step_target_tokens = step.target_tokens(),
                     .step_sequences = static_cast<int64_t>(step.sequences.size()),
                     .shape = hash_of_lengths(step)};
  require<InternalError>(dp_rank >= 0 && dp_rank < dp_size, "read_step: rank {} of {}", dp_rank, dp_size);
  for (const auto& places : cut_for(step, dp_rank, dp_size, micro_batch_tokens, cut, result)) {
    result.micro.push_back(read_micro_batch(step, places, reader));
  }
  if (padding == Padding::Buckets && !reader.cut_before()) {
    pad(step, cut_for_all(step, dp_size, micro_batch_tokens, cut), result);
  }
  return result;
}

Loader::Loader(LoaderOptions options) : options_(std::move(options)) {
  require<InternalError>(options_.plan && options_.reader, "loader: no plan or no reader");
  require<InternalError>(options_.steps_ahead >= 1, "loader: {} steps ahead", options_.steps_ahead);
  position_ = options_.plan->normalised(options_.start);
  thread_ = new_thread([this, start = position_] { run(start); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Loader::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || static_cast<int64_t>(ready_.size()) < options_.steps_ahead; });
  return !stopping_;
}

void Loader::run(Position position) {
  std::exception_ptr failure;
  try {
    while ((!options_.end_epoch || position.epoch < *options_.end_epoch) && wait_for_room()) {
      const auto began = std::chrono::steady_clock::now();
      StepBatches step =
          read_step(options_.plan->step(position.epoch, position.step), *options_.reader, options_.dp_rank,
                    options_.dp_size, options_.micro_batch_tokens, options_.padding, options_.cut);
      for (int64_t i = 0; i < options_.every; ++i) position = options_.plan->after(position);
      if (options_.was_read) options_.was_read(began);
      {
        const std::lock_guard lock(mutex_);
        ready_.push_back({std::move(step), position});
      }
      changed_.notify_all();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    finished_ = true;
  }
  changed_.notify_all();
}

std::optional<StepBatches> Loader::next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return finished_ || !ready_.empty(); };
  if (!ready()) {
    const auto begin = std::chrono::steady_clock::now();
    changed_.wait(lock, ready);
    waited_seconds_ += seconds_since(begin);
  }
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  StepBatches step = std::move(ready_.front().step);
  position_ = ready_.front().next;
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return step;
}

// The thread appends to the other end of the deque, which does not invalidate the pointer.
const StepBatches* Loader::ready() {
  const std::lock_guard lock(mutex_);
  return ready_.empty() ? nullptr : &ready_.front().step;
}

}  // namespace weft
