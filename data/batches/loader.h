// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "data/batches/batch.h"
#include "data/batches/batch_plan.h"

namespace weft {

class Dataset;

// Reads the tokens of planned sequences. read() may be called from any thread.
class SequenceReader {
 public:
  virtual ~SequenceReader() = default;
  // Fills `source` (source_tokens) and `target` (input_tokens + 1).
  virtual void read(const PlannedSequence& sequence, std::span<int32_t> source, std::span<int32_t> target) const = 0;
  // The lengths of the parts of a conversation, context and learnt in turn, whose tokens read() gives as all context
  // and then all that is learnt; empty for other sequences, which are read in their order.
  virtual std::vector<int32_t> turns(const PlannedSequence&) const { return {}; }
  // Inputs with this id attend to no input before them: the sequence is cut before each of them.
  virtual std::optional<int32_t> cut_before() const { return std::nullopt; }
};

struct ReadOptions {
  // Streams: the end token of a document begins the next document, as in generation without a prompt, and attention
  // does not cross it. See end_of_documents().
  bool document_mask = false;
};
// The token that ends each document of a stream, for a document mask. DataError if the tokenizer has no eos.
int32_t end_of_documents(const Dataset& dataset);
std::shared_ptr<const SequenceReader> make_reader(std::shared_ptr<const Dataset> dataset,
                                                  const ReadOptions& options = {});

// The micro-batches of one rank for one step, read now: input i is token i of the target, target i is token i + 1. A
// sequence that is cut becomes several, with the same inputs and targets. Steps whose sequences are cut are not padded.
// With StepCut::Leaves the micro-batches are the rank's leaves, of at most micro_batch_tokens each.
StepBatches read_step(const PlannedStep& step, const SequenceReader& reader, int64_t dp_rank, int64_t dp_size,
                      int64_t micro_batch_tokens, Padding padding = Padding::None, StepCut cut = StepCut::Shares);

struct LoaderOptions {
  std::shared_ptr<const BatchPlan> plan;
  std::shared_ptr<const SequenceReader> reader;
  int64_t dp_rank = 0;
  int64_t dp_size = 1;
  int64_t micro_batch_tokens = 0;
  Padding padding = Padding::None;
  StepCut cut = StepCut::Shares;
  Position start;                    // position of the first step; step == steps_per_epoch: the next epoch's first
  int64_t every = 1;                 // 2: of the steps from there on every second one
  std::optional<int64_t> end_epoch;  // the first epoch that is not loaded; none: without end
  int64_t steps_ahead = 3;           // steps read before next() needs them, at least 1
  // Called by the loader's thread for each step that it has read, with the time when it began; empty: not called.
  std::function<void(std::chrono::steady_clock::time_point began)> was_read;
};

// Yields one rank's share of step after step; a background thread reads ahead. Only one thread may call next().
class Loader {
 public:
  explicit Loader(LoaderOptions options);
  ~Loader();  // waits for the read in progress, no longer
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next step, in order; nothing after the last. An error of the thread is thrown here, after the steps that came
  // before it, and again at every further call.
  std::optional<StepBatches> next();
  // The step that next() will return; null if it is not read yet. Never waits or throws. Valid until next() is called.
  const StepBatches* ready();

  Position position() const { return position_; }            // position of the step that next() yields
  double waited_seconds() const { return waited_seconds_; }  // seconds next() has waited for data

 private:
  struct Ready {
    StepBatches step;
    Position next;  // the position after it
  };

  void run(Position position);
  bool wait_for_room();  // false: the loader stops

  LoaderOptions options_;
  Position position_;
  double waited_seconds_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ready> ready_;
  std::exception_ptr failure_;
  bool finished_ = false;  // the thread will add nothing more
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace weft
