#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/reader.h"
#include "checkpoint/writer.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "evaluate/text_generator.h"
#include "job/changes.h"
#include "job/job.h"
#include "job/run_state.h"
#include "model/transformer.h"
#include "trainer/metrics.h"
#include "trainer/provenance.h"
#include "trainer/training_step.h"

namespace weft {

// Where a run begins: the latest valid checkpoint of its directory or anew (auto), always anew (never), or a given
// checkpoint.
struct ResumeChoice {
  enum class Kind : uint8_t { Auto, Never, Path } kind = Kind::Auto;
  fs::path path;
};

struct TrainResult {
  ExitCode exit = ExitCode::Done;
  int64_t step = 0;
  int64_t max_steps = 0;
  std::optional<fs::path> last_checkpoint;
  double best_loss = 0;  // on the validation split; infinity where it was never evaluated
};

// The loop: steps, evaluations, checkpoints, metrics. Every rank runs it; decisions are taken from what the control
// all-reduce told all of them, or by rank 0 and broadcast.
class Trainer {
 public:
  Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin = {});
  TrainResult run(const ResumeChoice& resume, const SampleWriter& write_samples = {});
  Transformer& model() { return *model_; }

 private:
  void begin(const ResumeChoice& resume);
  std::optional<fs::path> find_resume(const ResumeChoice& resume);
  void restore(const fs::path& path);
  void check_dataset(const Checkpoint& checkpoint) const;
  Position position_now(const JobConfig& before, Position position) const;
  void tell_learning_rate(bool allowed) const;
  void write_run_files();
  void load_initial_weights();
  void create_directories();
  int64_t count_steps() const;
  bool finished() const;
  void one_step(const StepBatches& batches, double data_seconds);
  void after_step(const StepBatches& batches, const StepReport& report, double lr);
  void log_step(const StepReport& report, double lr);
  void name_stragglers();
  nlohmann::ordered_json rank_times() const;
  void evaluate();
  bool due(int64_t every_steps, int64_t every_epochs) const;
  bool checkpoint_due() const;
  // `last`: the run ends with this save, so its failure is the run's (see checkpoint.on_failure).
  void save(bool last = false);
  void commit_save(bool last = false);
  void save_failed(const DataError& error, bool last);
  void check_space();
  void probe_largest_step();
  std::vector<NamedBuffer> checkpoint_buffers() const;
  nlohmann::ordered_json fingerprint() const;
  nlohmann::ordered_json provenance() const;

  Context& context_;
  Mesh& mesh_;
  const JobConfig& job_;
  RunOrigin origin_;
  fs::path directory_, checkpoints_;
  std::shared_ptr<const Dataset> train_, valid_;
  std::vector<std::pair<std::string, std::string>> tokenizers_;  // file name and text, as checkpoints carry them
  std::shared_ptr<const BatchPlan> plan_;
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<TrainingStep> step_;
  std::unique_ptr<CheckpointWriter> writer_;
  std::unique_ptr<MetricsLog> metrics_;  // rank 0
  Progress progress_;
  RunState state_;
  int64_t max_steps_ = 0;
  int64_t first_step_ = 0;
  int64_t saved_step_ = -1;
  bool stop_ = false, save_written_everywhere_ = false;
  std::optional<fs::path> last_checkpoint_;
  // Since the last line of metrics.
  struct Window {
    int64_t steps = 0, targets = 0;
    double loss = 0, nll = 0, seconds = 0, data = 0, exposed = 0;
    RankTimes times;
  } window_;
  StragglerWatch stragglers_;
  std::chrono::steady_clock::time_point last_save_;
  double save_seconds_ = 0;  // that the save under way has kept the run waiting
};

}  // namespace weft
