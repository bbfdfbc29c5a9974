// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "tests/trainer/fixture/small_run.h"

namespace weft::test {

// A translation model trained for two steps on letters and digits, with 12 positions.
struct TranslationRun : testing::Test {
  void SetUp() override {
    std::string pairs;
    for (int i = 0; i < 30; ++i) pairs += "ab " + std::to_string(i) + "\tba\n";
    const std::string yaml = "name: t\ntask: translation\nrun_dir: " + (scratch / "run").string() +
                             "\ndata: {directory: " + (scratch / "data").string() +
                             ", format: tsv, source_bos: true, train: {files: [" + scratch.write("train.tsv", pairs) +
                             "]}, valid: {files: [" +
                             scratch.write("valid.tsv", "a 1\tba\nb 2\tab\n12\tb\nba\ta\nab\tb\n") +
                             "]}}\ntokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}\n"
                             "model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, max_length: 12}\n"
                             "batch: {sequences: 2}\ntrain: {max_steps: 2}\n";
    job = load_job(scratch.write("job.yaml", yaml), {});
    prepare(job.text());
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    Trainer(context, mesh, job, {}).run({});
  }

  Scratch scratch;
  JobConfig job;
};

}  // namespace weft::test
