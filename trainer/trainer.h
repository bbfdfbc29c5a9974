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
#include "trainer/run/trace/step_trace.h"
#include "trainer/run/validation.h"
#include "trainer/step/agreed_algorithms.h"
#include "trainer/step/corruption.h"
#include "trainer/step/training_setup.h"

namespace weft {

struct TrainResult {
  ExitCode exit = ExitCode::Done;
  int64_t step = 0;
  int64_t max_steps = 0;
  std::optional<fs::path> last_checkpoint;
  double best_loss = 0;              // loss of the best evaluation; infinity if nothing was evaluated
  std::optional<double> best_score;  // score of the best evaluation, if a metric of translations decides
  bool out_of_time = false;          // true if `exit` is Preempted because max_time is nearly up
};

// The functions through which a trainer and the program around it tell each other what happens while it runs.
struct RunSignals {
  std::function<bool()> stop_asked = StopSignals::stop_asked;
  // Seconds since this start of the run began, for train.max_time. Empty: counted from the trainer's construction.
  std::function<double()> seconds;
  // Called once with an error that ends the training, while everything still stands: destructors wait for threads, and
  // a thread that reads or writes on a disk that does not answer would keep the error for itself. An error of the
  // beginning is only thrown: there are no such threads yet, and what the start has made is removed again.
  std::function<void(const std::exception& error)> failed;
  // Called on rank 0 once the lines of an evaluation, and those of the run's end, are in metrics.jsonl: on the thread
  // that writes them, so it must be quick, and must not throw.
  std::function<void()> logged;
};

// Called on every rank after every step with the number of steps done, before the evaluation and save that are due
// then.
using StepObserver = std::function<void(int64_t step)>;

// Steps that are trained again, from the beginning `from`. `look` gets the state at each of `steps`, in their order, on
// every rank; the first may be that of the beginning. The repetition ends with the last of them, or once `look` says
// false.
struct Repetition {
  ResumeChoice from;
  std::vector<int64_t> steps;
  std::function<bool(const RunState& state, TrainingSetup& setup)> look;
};

// The training loop: steps, evaluations, generations, saves. Every rank runs it; decisions follow from the sums of the
// control all-reduce, which all ranks have, or rank 0 makes and broadcasts them. If a rank is asked to stop, all ranks
// leave evaluations and generations too and save at once; the next start begins with the evaluation left out.
class Trainer {
 public:
  Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin = {}, RunSignals signals = {});
  TrainResult run(const ResumeChoice& resume, const StepObserver& after_step = {});
  // Trains without the run's lock, and writes nothing into its directory, where the run may train meanwhile: only
  // steps, no evaluation, generation or save. DivergenceError where the run would have to roll back.
  void repeat(const Repetition& repetition);
  Transformer& model() { return setup_.model(); }

 private:
  void begin(const ResumeChoice& choice);
  void begin_reporting();
  void take_state(const Beginning& beginning);
  TrainResult result() const;
  void train_if_not_done(const StepObserver& after_step);
  void tell_failure(const std::exception& error);
  void train(const StepObserver& after_step);
  void repeat_until(int64_t step, Loader& loader);
  // Trains until the run reaches its end or is stopped (returns true), or has to roll back (returns false).
  bool run_steps(const StepObserver& after_step);
  bool run_steps_of(Loader& loader, const StepObserver& after_step);
  std::optional<StepBatches> next_of(Loader& loader);
  void do_what_is_due();
  // `next`: the step after `batches`; null if it has not been read yet.
  void train_step(const StepBatches& batches, const StepBatches* next, double data_seconds);
  StepBatches read_again(int replica);  // a replica's share of the step that comes next
  void count_step(const StepBatches& batches, const StepOutcome& outcome);
  bool stop_asked() const;
  // Returns whether any rank is asked to stop, and records the answer. Collective.
  bool agree_to_stop();
  void note_stop(bool stop);
  bool must_roll_back() const;
  std::string divergence() const;  // why it must, for messages
  void roll_back();
  bool evaluation_due() const;
  bool save_due() const;
  void evaluate();
  void report_sources();
  void print_generations();
  void save();
  void commit_save(bool last = false);
  void keep_last_save();

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
  StepTrace trace_;
  CorruptionChecks bits_;
  AlgorithmsFile algorithms_file_;
  bool failure_told_ = false;       // signals_.failed was called
  bool stop_ = false;               // some rank was asked to stop
  bool out_of_time_ = false;        // this rank's time was up when stop_ was set
  bool save_due_now_ = false;       // a save is due by rank 0's clock
  bool save_owed_ = false;          // a save was due while steps were skipped
  bool weights_are_finite_ = true;  // as far as they were looked at: before a save, and at the run's end
  int64_t evaluated_step_ = -1;
  std::unique_ptr<Validation> validation_;  // null if the dataset has no validation split
};

}  // namespace weft
