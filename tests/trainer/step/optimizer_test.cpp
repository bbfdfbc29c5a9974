// SPDX-License-Identifier: Apache-2.0
// Checks every kind of optimizer against its row in the table of keys, its names in checkpoints, and a resumed run.
#include "trainer/step/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "job/vocabularies.h"
#include "tests/model/fixture/model.h"
#include "tests/support/source_dir.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

using namespace test;

std::set<std::string> keys_of(OptimizerKind kind) { return {kOptimizerKeys[kind].begin(), kOptimizerKeys[kind].end()}; }

// All keys that some kinds read and other kinds do not.
std::set<std::string> keys_of_kinds() {
  std::set<std::string> keys;
  for (const auto& [name, kind] : EnumNames<OptimizerKind>::kNames) keys.merge(keys_of(kind));
  return keys;
}

// Visits the section's fields: sets the number `key` to a half, and stores its help text.
struct SetToHalf {
  std::string key, help;

  template <class T>
  void field(const char* name, T& value, const char* meaning, const FieldProperties& = {}) {
    if (name != key) return;
    if constexpr (std::is_same_v<T, double>) value = 0.5;
    help = meaning;
  }
};

class OptimizerKinds : public testing::TestWithParam<OptimizerKind> {
 protected:
  OptimizerKinds() { run_.job().optimizer.kind = GetParam(); }

  // The master weights after three steps of a job that was not checked.
  static std::vector<float> trained(const JobConfig& job) {
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    const TrainingData data = open_training_data(job, mesh.world());
    TrainingSetup setup(context, mesh, job, vocabularies_of(data.train->header()));
    setup.parameters().initialise(1);
    Loader loader = make_loader(job, mesh, context, data.plan, data.reader);
    int64_t updates = 0;
    for (int i = 0; i < 3; ++i) setup.step().run(*loader.next(), {.learning_rate = 1e-2}, updates, 0, {});
    const auto weights = setup.parameters().master().data.span<float>();
    return {weights.begin(), weights.end()};
  }

  const Scratch scratch_;
  SmallRun run_{scratch_};
};

TEST_P(OptimizerKinds, ReadTheKeysOfTheirRowAndRefuseOthers) {
  const std::vector<float> expected = trained(run_.job());
  EXPECT_THAT(optimizer_problems(run_.job().optimizer), testing::IsEmpty());
  for (const std::string& key : keys_of_kinds()) {
    SCOPED_TRACE(key);
    JobConfig job = run_.job();
    SetToHalf set{.key = key, .help = {}};
    job.optimizer.fields(set);
    const bool is_read = keys_of(GetParam()).contains(key);
    EXPECT_EQ(trained(job) != expected, is_read);
    EXPECT_EQ(optimizer_problems(job.optimizer).empty(), is_read);
    EXPECT_EQ(set.help.find(enum_name(GetParam())) != std::string::npos, is_read) << set.help;
  }
}

TEST_P(OptimizerKinds, AreExplainedByTheirKeyAndByTheirFormula) {
  SetToHalf set{.key = "kind", .help = {}};
  OptimizerConfig().fields(set);
  const std::string name(enum_name(GetParam()));
  EXPECT_NE((" " + set.help).find(" " + name + ": "), std::string::npos) << set.help;
  const std::string page = read_file(source_dir() / "docs" / "configuration.md");
  EXPECT_NE(page.find("\n| " + name + " | "), std::string::npos) << "docs/configuration.md has no formula of " << name;
}

TEST_P(OptimizerKinds, ResumeWithTheBitsOfAnUnbrokenRun) {
  run_.train();
  const std::vector<uint64_t> expected = tensor_hashes(run_.checkpoint(8));
  for (const int64_t step : {6, 8}) fs::remove_all(run_.checkpoint(step));
  note_last_save(run_.directory(), {});
  run_.train();
  EXPECT_EQ(tensor_hashes(run_.checkpoint(8)), expected);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerKinds, testing::ValuesIn([] {
                           std::vector<OptimizerKind> kinds;
                           for (const auto& named : EnumNames<OptimizerKind>::kNames) kinds.push_back(named.second);
                           return kinds;
                         }()),
                         [](const auto& info) { return std::string(enum_name(info.param)); });

TEST(OptimizerProblems, NameTheKeyTheKindAndAKeyThatItReads) {
  EXPECT_THAT(optimizer_problems({.momentum = 0.9}),
              testing::ElementsAre("optimizer.momentum: it has no effect with adamw; remove it, or set beta1"));
  EXPECT_THAT(optimizer_problems({.kind = OptimizerKind::Sgd, .beta2 = 0.95, .weight_decay = 0.1}),
              testing::ElementsAre("optimizer.beta2: it has no effect with sgd; remove it, or set momentum"));
}

// Checkpoints store these names, so that they cannot change.
TEST(OptimizerBuffers, KeepTheirNames) {
  Context context;
  Mesh mesh = Mesh::single();
  const auto names = [&](OptimizerKind kind) {
    const auto model = make_model(context, mesh, small_spec(false));
    model->allocate(Precision::Fp32, Purpose::Training);
    std::vector<std::string> names;
    const Optimizer optimizer(context, model->parameters(), {.kind = kind});
    for (const NamedBuffer& buffer : optimizer.buffers()) names.push_back(buffer.name);
    return names;
  };
  const std::vector<std::string> moments = {"moment1", "moment2"};
  EXPECT_EQ(names(OptimizerKind::AdamW), moments);
  EXPECT_EQ(names(OptimizerKind::Adam), moments);
  EXPECT_EQ(names(OptimizerKind::Sgd), std::vector<std::string>{"momentum"});
}

// Bias corrections belong to the rule: 1 - beta^n, or no correction.
TEST(OptimizerRules, CorrectTheBiasOfTheirMomentsAlone) {
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, small_spec(false));
  model->allocate(Precision::Fp32, Purpose::Training);
  StepState adam, sgd;
  Optimizer(context, model->parameters(), {.beta1 = 0.5, .beta2 = 0.75}).correct_bias(adam, 2);
  Optimizer(context, model->parameters(), {.kind = OptimizerKind::Sgd, .beta1 = 0.5}).correct_bias(sgd, 2);
  EXPECT_EQ(adam.bias_correction1, 0.75);
  EXPECT_EQ(adam.bias_correction2, 0.4375);
  EXPECT_EQ(sgd.bias_correction1, 1);
  EXPECT_EQ(sgd.bias_correction2, 1);
}

}  // namespace
}  // namespace weft
