// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/prepare/prepare.h"
#include "tests/support/scratch.h"
#include "tests/support/stored_tensors.h"
#include "trainer/trainer.h"

namespace weft::test {

// A language model so small that a run of it takes milliseconds, on text of its own, in a directory of its own.
class SmallRun {
 public:
  // `text` is cut into characters; the last eighth validates.
  explicit SmallRun(const Scratch& scratch, const std::string& name = "run", const std::string& text = sample_text())
      : job_(defaults()) {
    job_.name = name;
    job_.run_dir = (scratch / name).string();
    job_.data.directory = (scratch / (name + "-data")).string();
    job_.data.train.files = {scratch.write(name + ".txt", text)};
    prepare(job_.text());
  }

  JobConfig& job() { return job_; }
  fs::path directory() const { return job_.run_directory(); }
  fs::path checkpoint(int64_t step) const { return checkpoint_path(directory() / "checkpoints", step); }

  TrainResult train(const ResumeChoice& resume = {}, RunOrigin origin = {}, const StepObserver& each_step = {}) const {
    Context context(Device{}, 1);
    return train_on(context, resume, std::move(origin), each_step);
  }
  TrainResult train_on(Context& context, const ResumeChoice& resume = {}, RunOrigin origin = {},
                       const StepObserver& each_step = {}) const {
    check_job(job_);
    Mesh mesh = Mesh::single();
    Trainer trainer(context, mesh, job_, std::move(origin));
    return trainer.run(resume, each_step);
  }

  static std::string sample_text() {
    std::string text;
    for (int i = 0; i < 90; ++i) text += "the " + std::to_string(i * 7919 % 100) + " boats went by\n";
    return text;
  }

 private:
  static JobConfig defaults() {
    JobConfig job;
    job.data.document_delimiter = DocumentDelimiter::File;
    job.data.split = SplitRule::Characters;
    job.data.valid_fraction = 0.125;
    job.tokenizer.kind = TokenizerKind::Chars;
    job.model.layers = 1, job.model.width = 16, job.model.heads = 2, job.model.ffn = 16, job.model.max_length = 8;
    job.model.dropout = {.embedding = 0.1, .residual = 0.1, .ffn = 0.1, .attention = 0.1};
    job.batch.sequences = 4, job.batch.context_length = 8;
    job.schedule = {.kind = ScheduleKind::Cosine, .learning_rate = 1e-2, .warmup_steps = 2};
    job.train.max_steps = 8, job.train.clip_norm = 1;
    job.checkpoint.every_steps = 3, job.checkpoint.keep_last = 10;
    job.log.every_steps = 1;
    return job;
  }

  JobConfig job_;
};

}  // namespace weft::test
