// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/launch/run_weft.h"
#include "tests/support/scratch.h"

// A folder with a job of each kind, and commands that are run in it: their exit code, what they say, and that inputs
// are as they were.
namespace weft::test {

struct Case {
  std::vector<std::string> arguments;
  int exit = 0;
  std::vector<std::string> says;  // pieces of what it prints on standard error
  std::string input = {};
};

inline constexpr const char* kGptJob = R"(name: g
run_dir: run
data: {directory: data, train: {files: [train.txt]}, valid: {files: [valid.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 1, width: 16, heads: 2, max_length: 8}
batch: {sequences: 2}
train: {max_steps: 2}
)";
inline constexpr const char* kPairsJob = R"(name: t
task: translation
run_dir: trun
data: {directory: tdata, format: tsv, train: {files: [train.tsv]}, valid: {files: [valid.tsv]}}
tokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, max_length: 12}
batch: {sequences: 2}
train: {max_steps: 2}
)";

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    std::string text, pairs;
    for (int i = 0; i < 30; ++i) text += "the boat went by\n\n", pairs += "ab " + std::to_string(i) + "\tba\n";
    scratch_.write("train.txt", text);
    scratch_.write("valid.txt", "a boat and the wind\n");
    scratch_.write("train.tsv", pairs);
    scratch_.write("valid.tsv", "a 1\tba\nb 2\tab\n");
    scratch_.write("gpt.yaml", kGptJob);
    scratch_.write("pairs.yaml", kPairsJob);
  }

  void must(const std::vector<std::string>& arguments) {
    const Finished done = run_weft(scratch_.path(), arguments);
    ASSERT_EQ(done.exit, 0) << joined(arguments) << "\n" << done.err;
  }
  void prepare_both() { must({"prepare", "gpt.yaml"}), must({"prepare", "pairs.yaml"}); }
  void train_both() { prepare_both(), must({"train", "gpt.yaml"}), must({"train", "pairs.yaml"}); }

  Finished expect(const Case& c) {
    const auto before = snapshot(scratch_.path());
    const Finished done = run_weft(scratch_.path(), c.arguments, c.input);
    const std::string what = joined(c.arguments) + "\n" + done.err;
    EXPECT_EQ(done.exit, c.exit) << what;
    for (const std::string& piece : c.says) EXPECT_NE(done.err.find(piece), std::string::npos) << piece << "\n" << what;
    EXPECT_EQ(snapshot(scratch_.path()), before) << what;
    return done;
  }
  void expect_all(const std::vector<Case>& cases) {
    for (const Case& c : cases) expect(c);
  }

  Scratch scratch_;
};

}  // namespace weft::test
