#pragma once
#include <functional>
#include <optional>

#include "base/error.h"
#include "evaluate/text_generator.h"
#include "trainer/agreed_algorithms.h"
#include "trainer/algorithms_file.h"
#include "trainer/provenance.h"
#include "trainer/reporter.h"
#include "trainer/resume.h"
#include "trainer/run_directory.h"
#include "trainer/saves.h"
#include "trainer/training_setup.h"

namespace weft {

struct TrainResult {
  ExitCode exit = ExitCode::Done;
  int64_t step = 0;
  int64_t max_steps = 0;
  std::optional<fs::path> last_checkpoint;
  double best_loss = 0;  // on the validation split; infinity if it was never evaluated
};

// Called on every rank after every step with the number of steps done, before what is due then is evaluated and saved.
using StepObserver = std::function<void(int64_t step)>;

// The loop: steps, evaluations, samples, saves. Every rank runs it; decisions follow from the control
// all-reduce, which all of them know, or are rank 0's and broadcast.
class Trainer {
 public:
  Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin = {});
  TrainResult run(const ResumeChoice& resume, const StepObserver& after_step = {});
  Transformer& model() { return setup_.model(); }

 private:
  void begin(const ResumeChoice& choice);
  void set_aside_later_than(const fs::path& checkpoint) const;
  TrainResult result() const;
  void train(const StepObserver& after_step);
  // `next`: the step after it, where it has been read.
  void train_step(const StepBatches& batches, const StepBatches* next, double data_seconds);
  void count_step(const StepBatches& batches, const StepReport& report);
  bool evaluation_due() const;
  bool save_due() const;
  void evaluate();
  void print_samples();
  void save();

  Mesh& mesh_;
  const JobConfig& job_;
  RunOrigin origin_;
  TrainingData data_;
  TrainingSetup setup_;
  RunEnd end_;
  RunDirectory directory_;
  Reporter reporter_;
  RunState state_;
  Saves saves_;
  AlgorithmsFile algorithms_file_;
  bool stop_ = false;          // some rank was asked to
  bool save_due_now_ = false;  // by rank 0's clock
  SampleWriter sample_writer_;
};

}  // namespace weft
