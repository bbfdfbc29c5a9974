// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "checkpoint/reader.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/logs/metrics.h"

namespace weft::test {

// A translation model that learns, in milliseconds, to write most of the targets of its validation split: letters in
// the order in which they stand, and at the end one that the source decides. Evaluations are made by BLEU.
struct BleuRun : testing::Test {
  static std::string pair(int i) {
    const std::string letters = "pqrs";
    return fmt::format("x{}y{}\tabcdab{}{}\n", i % 10, i / 10, letters[i % 4], letters[i % 3]);
  }
  void SetUp() override {
    std::string train, valid;
    for (int i = 0; i < 52; ++i) (i % 7 == 3 ? valid : train) += pair(i);
    valid += "\tabcd\n" + std::string(30, 'x') + "\tabcdabp\n";  // no source, and a source that must be cut
    const std::string yaml = "name: t\ntask: translation\nrun_dir: " + (scratch / "run").string() +
                             "\ndata: {directory: " + (scratch / "data").string() + ", format: tsv, train: {files: [" +
                             scratch.write("train.tsv", train) + "]}, valid: {files: [" +
                             scratch.write("valid.tsv", valid) +
                             "]}}\ntokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}\n"
                             "model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, ffn: 32, max_length: 16}\n"
                             "batch: {sequences: 12}\nschedule: {kind: constant, learning_rate: 0.01}\n"
                             "train: {max_steps: 24}\ncheckpoint: {every_steps: 6, keep_last: 100}\n"
                             "evaluation: {every_steps: 6, metric: bleu, translation: {settings: [tokenizer=char]}}\n";
    job = load_job(scratch.write("job.yaml", yaml), {});
    prepare(job.text());
  }

  // Trains on one rank; asks the run to stop after a step, if a step is given.
  TrainResult train(const std::string& name = "run", int64_t stop_after = -1) {
    job.run_dir = (scratch / name).string();
    check_job(job);
    bool stop = false;
    RunSignals signals;
    signals.stop_asked = [&] { return stop; };
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    Trainer trainer(context, mesh, job, {}, signals);
    return trainer.run({}, [&](int64_t step) { stop = step == stop_after; });
  }
  fs::path checkpoint(int64_t step) const { return checkpoint_path(job.run_directory() / "checkpoints", step); }
  RunState state(int64_t step) const {
    return run_state_from(Checkpoint::open(checkpoint(step)).manifest().state, "test");
  }
  std::vector<nlohmann::ordered_json> evaluations() const { return read_metrics(job.run_directory(), "eval"); }

  Scratch scratch;
  JobConfig job;
};

}  // namespace weft::test
