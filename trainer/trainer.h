// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/process/signals.h"
#include "generate/generations.h"
#include "trainer/run/algorithms_file.h"
#include "trainer/run/provenance.h"
#include "trainer/run/reporter.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_directory.h"
#include "trainer/run/saves.h"
#include "trainer/run/time_limit.h"
#include "trainer/run/validation.h"
#include "trainer/step/agreed_algorithms.h"
#include "trainer/step/training_setup.h"

namespace weft {

struct TrainResult {
  ExitCode exit = ExitCode::Done;
  int64_t step = 0;
  int64_t max_steps = 0;
  std::optional<fs::path> last_checkpoint;
  double best_loss = 0;             // of the best evaluation; infinity if there was none
  std::optional<double> best_bleu;  // of it too, where evaluation.metric is bleu
  bool out_of_time = false;         // Preempted, and by rank 0's clock train.max_time is nearly over
};

// What a rank hears from outside while it trains.
struct RunSignals {
  std::function<bool()> stop_asked = StopSignals::stop_asked;
  std::function<double()> seconds;  // since this start began, for train.max_time; empty: since the trainer was made
};

// Called on every rank after every step with the number of steps done, before what is due then is evaluated and saved.
using StepObserver = std::function<void(int64_t step)>;

// The loop: steps, evaluations, samples, saves. Every rank runs it; decisions follow from the control
// all-reduce, which all of them know, or are rank 0's and broadcast. A stop that any rank is asked for goes straight to
// the save, out of evaluations and samples too; the evaluation that is left out is the first thing the next start does.
class Trainer {
 public:
  Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin = {}, RunSignals signals = {});
  TrainResult run(const ResumeChoice& resume, const StepObserver& after_step = {});
  Transformer& model() { return setup_.model(); }

 private:
  void begin(const ResumeChoice& choice);
  void begin_reporting();
  void set_aside_later_than(const fs::path& checkpoint) const;
  TrainResult result() const;
  void train(const StepObserver& after_step);
  // Until the run has reached its end, is stopped (true) or has to roll back (false).
  bool run_steps(const StepObserver& after_step);
  void do_what_is_due();
  // `next`: the step after it, where it has been read.
  void train_step(const StepBatches& batches, const StepBatches* next, double data_seconds);
  void count_step(const StepBatches& batches, const StepOutcome& outcome);
  bool stop_asked() const;
  // Whether any rank is asked to stop; remembered. Collective.
  bool agree_to_stop();
  void note_stop(bool stop);
  bool must_roll_back() const;
  void roll_back();
  bool evaluation_due() const;
  bool save_due() const;
  void evaluate();
  void report_sources();
  void print_samples();
  void save();
  void commit_save(bool last = false);

  Mesh& mesh_;
  const JobConfig& job_;
  RunOrigin origin_;
  RunSignals signals_;
  TimeLimit time_limit_;
  TrainingData data_;
  TrainingSetup setup_;
  RunEnd end_;
  RunDirectory directory_;
  Reporter reporter_;
  RunState state_;
  Saves saves_;
  AlgorithmsFile algorithms_file_;
  bool stop_ = false;          // some rank was asked to
  bool out_of_time_ = false;   // by this rank's clock, when stop_ was set
  bool save_due_now_ = false;  // by rank 0's clock
  int64_t evaluated_step_ = -1;
  std::unique_ptr<Validation> validation_;  // where the dataset has a validation split
  SampleWriter sample_writer_;
};

}  // namespace weft
