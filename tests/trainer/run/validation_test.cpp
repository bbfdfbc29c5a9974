// SPDX-License-Identifier: Apache-2.0
// The choice of the best evaluation of a run, and its consequences: by the loss or by BLEU, on any layout, in a run
// that is stopped, changed or refused.
#include "trainer/run/validation.h"

#include <gmock/gmock.h>

#include <cmath>

#include "job/changes.h"
#include "job/dataset_checks.h"
#include "parallel/local/in_process.h"
#include "tests/evaluate/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

const ValidationMetric kBleu = validation_metric(find_metric("bleu"));

ValidationReport found(double loss, std::optional<double> score = {}) {
  ValidationReport report{.loss = {.nll = loss, .targets = 1}};
  if (score) report.translation = TranslationReport{.score = *score};
  return report;
}

TEST(CountEvaluation, TheLowerLossIsBetter) {
  RunState state{.step = 3};
  const auto better = [&](const ValidationReport& report) {
    ++state.step;
    return count_evaluation(report, ValidationMetric::Loss, state);
  };
  EXPECT_TRUE(better(found(2.0)));
  EXPECT_FALSE(better(found(2.0)));
  EXPECT_FALSE(better(found(std::nan(""))));
  EXPECT_EQ(state.evaluations_since_best, 2);
  EXPECT_TRUE(better(found(1.5)));
  EXPECT_EQ(state.evaluations_since_best, 0);
  EXPECT_EQ(state.best_step, 7);
  EXPECT_EQ(state.best_loss, 1.5);
  EXPECT_FALSE(state.best_score);
}

TEST(CountEvaluation, TheHigherBleuIsBetterWhateverTheLoss) {
  RunState state{.best_loss = 0.5, .best_step = 0};
  const auto better = [&](const ValidationReport& report) {
    ++state.step;
    return count_evaluation(report, kBleu, state);
  };
  EXPECT_TRUE(better(found(2.0, 0.0))) << "the first BLEU";
  EXPECT_TRUE(better(found(1.9, 0.0))) << "of equal ones that with the lower loss";
  EXPECT_FALSE(better(found(1.9, 0.0)));
  EXPECT_TRUE(better(found(3.0, 12.5)));
  EXPECT_FALSE(better(found(1.0, 12.0)));
  EXPECT_FALSE(better(found(std::nan("")))) << "nothing was translated";
  EXPECT_EQ(state.evaluations_since_best, 2);
  EXPECT_EQ(state.best_step, 4);
  EXPECT_EQ(state.best_loss, 3.0);
  EXPECT_EQ(state.best_score, 12.5);
}

TEST(CountEvaluation, AScoreIsThatOfTheBestStep) {
  RunState state{.best_loss = 2.0, .best_score = 12.5, .best_step = 0};
  EXPECT_TRUE(count_evaluation(found(1.5), ValidationMetric::Loss, state)) << "nothing was translated";
  EXPECT_FALSE(state.best_score);
}

TEST(CountEvaluation, TheTableSaysWhetherALowerScoreIsBetter) {
  for (const MetricEntry& entry : metric_table()) {
    RunState state{.best_loss = 0.5, .best_score = 50, .best_step = 0};
    const double better = entry.better == Better::Lower ? 40 : 60, worse = entry.better == Better::Lower ? 45 : 55;
    EXPECT_TRUE(count_evaluation(found(1.0, better), validation_metric(entry), state)) << entry.name;
    EXPECT_FALSE(count_evaluation(found(0.1, worse), validation_metric(entry), state)) << entry.name;
    EXPECT_TRUE(count_evaluation(found(0.9, better), validation_metric(entry), state)) << "the lower loss";
    EXPECT_EQ(state.best_score, better);
  }
}

TEST(ValidationMetric, NamesTheLossAndTheWholeTable) {
  EXPECT_EQ(enum_name(ValidationMetric::Loss), "loss");
  EXPECT_EQ(translation_metric(ValidationMetric::Loss), nullptr);
  EXPECT_EQ(EnumNames<ValidationMetric>::kNames.size(), metric_table().size() + 1);
  for (const MetricEntry& entry : metric_table()) {
    EXPECT_EQ(enum_name(validation_metric(entry)), entry.name);
    EXPECT_EQ(translation_metric(validation_metric(entry)), &entry);
  }
}

using ByBleu = BleuRun;

TEST_F(ByBleu, AnyMetricOfTranslationsDecidesTheSameWay) {
  job.evaluation.metric = validation_metric(find_metric("ter")), job.evaluation.translation = {};
  const TrainResult result = train();
  double best = 1e9;
  for (const auto& line : evaluations()) {
    best = std::min(best, line.at("ter").get<double>());
    EXPECT_EQ(line.at("best_ter"), best);
    EXPECT_THAT(line.at("ter_signature").get<std::string>(), HasSubstr("tok:tercom"));
    EXPECT_FALSE(line.contains("bleu"));
  }
  EXPECT_EQ(result.best_score, best);
}

TEST_F(ByBleu, TheBestIsKeptReportedAndStored) {
  job.evaluation.every_steps = job.checkpoint.every_steps = 2;
  job.checkpoint.keep_last = 1;
  const TrainResult result = train();
  double best = -1, loss = 0;
  int64_t best_step = -1;
  for (const auto& line : evaluations()) {
    const double bleu = line.at("bleu");
    const bool better = bleu > best || (bleu == best && line.at("loss") < loss);
    if (better) best = bleu, loss = line.at("loss"), best_step = line.at("step");
    EXPECT_EQ(line.at("best_bleu"), best);
    EXPECT_EQ(line.at("best_loss"), loss);
    EXPECT_EQ(line.at("best_step"), best_step);
  }
  EXPECT_GT(best, 20) << "this test needs a model that has learnt something";
  EXPECT_EQ(result.best_score, best);
  EXPECT_EQ(state(24).best_score, best);
  EXPECT_EQ(state(24).best_step, best_step);
  EXPECT_TRUE(has_manifest(checkpoint(best_step)));
}

TEST_F(ByBleu, PatienceFollowsBleuAndNotTheLoss) {
  job.evaluation.every_steps = 2, job.evaluation.patience = 1;
  const TrainResult result = train();
  const auto lines = evaluations();
  ASSERT_GE(lines.size(), 2u);
  const auto &last = lines.back(), &before = lines[lines.size() - 2];
  ASSERT_LT(last.at("loss"), before.at("loss")) << "this test needs a model whose BLEU falls before its loss rises";
  EXPECT_LT(last.at("bleu"), before.at("bleu"));
  EXPECT_LT(result.step, job.train.max_steps);
  EXPECT_EQ(last.at("step"), result.step);
  EXPECT_EQ(last.at("best_step"), before.at("step"));
  EXPECT_EQ(result.best_score, before.at("bleu"));
}

TEST_F(ByBleu, AStoppedRunHasTheScoresOfAWholeOne) {
  train("whole");
  const auto expected = evaluations();
  RunState whole = state(24);
  EXPECT_EQ(train("stopped", 12).exit, ExitCode::Preempted);
  EXPECT_TRUE(state(12).evaluation_left);
  EXPECT_EQ(train("stopped", 15).exit, ExitCode::Preempted);
  EXPECT_EQ(train("stopped").exit, ExitCode::Done);
  const auto lines = evaluations();
  ASSERT_EQ(lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const char* key : {"step", "bleu", "best_bleu", "best_step", "loss"}) {
      EXPECT_EQ(lines[i].at(key), expected[i].at(key)) << key;
    }
  }
  whole.run = state(24).run;
  EXPECT_EQ(state(24), whole);
}

// One of two ranks is asked to stop after the loss is known and before translations are made.
TEST_F(ByBleu, AStopDuringTheEvaluationStopsAllRanks) {
  train("whole");
  const auto expected = evaluations();
  for (const int asked_rank : {0, 1}) {
    job.run_dir = (scratch / fmt::format("asked-{}", asked_rank)).string();
    std::array<TrainResult, 2> results;
    run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
      bool evaluating = false;
      int questions = 0;
      RunSignals signals;
      signals.stop_asked = [&] { return evaluating && ++questions > 1 && rank == asked_rank; };
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, job, {}, signals);
      results[static_cast<size_t>(rank)] = trainer.run({}, [&](int64_t step) { evaluating = step == 12; });
      EXPECT_EQ(questions, 2) << "one before the loss, one before the translations";
    });
    for (const TrainResult& result : results) {
      EXPECT_EQ(result.exit, ExitCode::Preempted);
      EXPECT_EQ(result.step, 12);
    }
    EXPECT_EQ(evaluations().size(), 1u) << "that of step 6";
    EXPECT_TRUE(state(12).evaluation_left);
    EXPECT_EQ(train(fmt::format("asked-{}", asked_rank)).exit, ExitCode::Done);
    ASSERT_EQ(evaluations().size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(evaluations()[i].at("bleu"), expected[i].at("bleu")) << i;
  }
}

// Layouts round differently in the last bits; the candidates' logits are so far apart that the texts are the same.
TEST_F(ByBleu, ScoresAreTheSameOnEveryLayout) {
  train("alone");
  const auto expected = evaluations();
  struct Divided {
    MeshLayout layout;
    ZeroStage zero = ZeroStage::Whole;
    bool sequence = false;
  };
  for (const Divided& divided :
       {Divided{{.dp = 2}, static_cast<ZeroStage>(2)}, Divided{{.tp = 2}, ZeroStage::Whole, true},
        Divided{{.dp = 2, .tp = 2}, static_cast<ZeroStage>(1), true}}) {
    const auto& [layout, zero, sequence] = divided;
    job.run_dir = (scratch / fmt::format("{}x{}", layout.dp, layout.tp)).string();
    job.parallel.tp = layout.tp, job.parallel.zero_stage = zero, job.parallel.sequence_parallel = sequence;
    run_in_process(layout, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      EXPECT_EQ(Trainer(context, mesh, job).run({}).exit, ExitCode::Done);
    });
    const auto lines = evaluations();
    ASSERT_EQ(lines.size(), expected.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(lines[i].at("bleu"), expected[i].at("bleu")) << layout.dp << " x " << layout.tp << " " << i;
      EXPECT_EQ(lines[i].at("best_step"), expected[i].at("best_step"));
    }
  }
}

// A run that patience has ended continues if the evaluation settings change: earlier evaluations do not count.
TEST_F(ByBleu, ChangedEvaluationsResetTheBest) {
  job.evaluation.metric = ValidationMetric::Loss, job.evaluation.translation = {};
  job.evaluation.every_steps = 1, job.evaluation.patience = 2, job.checkpoint.every_steps = 1;
  job.checkpoint.keep_last = 1;
  job.schedule.learning_rate = 1e-20;  // no evaluation is better than the first
  EXPECT_EQ(train().step, 3);
  EXPECT_EQ(state(3).best_step, 1);
  EXPECT_EQ(train().step, 3) << "it has ended";
  job.evaluation.metric = kBleu;
  const TrainResult by_bleu = train();
  EXPECT_EQ(by_bleu.step, 6) << "the evaluation of step 4 is the best, and two more are not better";
  EXPECT_EQ(state(6).best_step, 4);
  EXPECT_EQ(state(6).best_score, by_bleu.best_score);
  EXPECT_FALSE(has_manifest(checkpoint(1)));
  job.evaluation.translation.max_pairs = 3;
  EXPECT_EQ(train().step, 9);
  EXPECT_EQ(state(9).best_step, 7);
  job.evaluation.metric = ValidationMetric::Loss, job.evaluation.translation = {};
  EXPECT_EQ(train().step, 12);
  EXPECT_EQ(state(12).best_step, 10);
  EXPECT_FALSE(state(12).best_score);
}

TEST(ChangesEvaluation, DependsOnWhatIsMeasuredNotOnWhen) {
  for (const char* key : {"evaluation.metric", "evaluation.translation.beam", "evaluation.max_sequences"}) {
    EXPECT_TRUE(changes_evaluation(key)) << key;
    EXPECT_FALSE(changes_training(key)) << key;
  }
  for (const char* key : {"evaluation.every_steps", "evaluation.patience", "log.every_steps"}) {
    EXPECT_FALSE(changes_evaluation(key)) << key;
  }
}

TEST_F(ByBleu, RefusedIfNothingCanBeCompared) {
  const auto said = [&](const std::vector<std::string>& overrides) {
    return error_of([&] { load_job((scratch / "job.yaml").string(), overrides); });
  };
  EXPECT_EQ(said({}), "no error");
  EXPECT_THAT(said({"evaluation.every_steps=0"}),
              HasSubstr("job.yaml:11:30: evaluation.metric: nothing is evaluated; set evaluation.every_steps"));
  EXPECT_THAT(said({"evaluation.metric=loss"}),
              HasSubstr("job.yaml:11:44: evaluation.translation: metric: loss translates nothing"));
  EXPECT_THAT(
      said({"task=gpt", "evaluation.metric=bleu"}),
      HasSubstr("--set evaluation.metric=bleu: evaluation.metric: bleu compares translations, and task is gpt"));
  EXPECT_THAT(said({"evaluation.translation.beam=0"}),
              HasSubstr("evaluation.translation.beam: expected an integer from 1"));
  EXPECT_THAT(said({"evaluation.metric=ter"}),
              HasSubstr("evaluation.translation.settings: tokenizer=char: tokenizer: unknown key"));
  EXPECT_THAT(said({"evaluation.metric=rouge"}), HasSubstr("evaluation.metric: expected one of loss, bleu, chrf"));
}

TEST_F(ByBleu, IsRefusedBeforeTheFirstStepWithoutPairsOrTheirText) {
  job.data.directory = (scratch / "training-alone").string();
  job.data.valid.files.clear();
  prepare(job.text());
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  const auto refused = error_of([&] { Trainer(context, mesh, job); });
  EXPECT_THAT(refused,
              AllOf(HasSubstr("evaluation.metric: bleu translates the validation split, but"),
                    HasSubstr("training-alone holds none"), HasSubstr("[prepare it again with pairs held out")));
  EXPECT_EQ(error_of([&] { check_held_out(job, "job.yaml:1:2: "); }), "job.yaml:1:2: " + refused);
  EXPECT_FALSE(fs::exists(job.run_directory()));
  const fs::path old = source_dir() / "tests" / "data" / "dataset" / "golden" / "dataset-v1" / "pairs";
  const Dataset version1 = Dataset::open(old, DataSplit::Train);  // this version keeps no text of a split
  EXPECT_THAT(error_of([&] { check_validation_text(job, &version1, "job.yaml:1:2: "); }),
              AllOf(HasSubstr("job.yaml:1:2: evaluation.metric: bleu"),
                    HasSubstr("dataset-v1/pairs (version 1) does not keep the text of its targets"),
                    HasSubstr("[prepare it again (`weft prepare --force`), or set evaluation.metric: loss]")));
  job.evaluation.metric = ValidationMetric::Loss, job.evaluation.translation = {};
  EXPECT_EQ(error_of([&] { check_validation_text(job, &version1), check_held_out(job, ""); }), "no error");
}

// They change nothing that is trained; the figures are those of weft choose for the checkpoint of the same step.
TEST(Tasks, AreAnsweredAtEachEvaluation) {
  const Scratch scratch;
  const SmallRun plain(scratch, "plain");
  SmallRun asking(scratch, "asking");
  const std::string choices = R"({"ctx": "the 10", "endings": ["boats", "th"], "label": 0})";
  const std::string word = R"({"text": "the boats went by"})";
  asking.job().evaluation.every_steps = asking.job().checkpoint.every_steps = 4;
  asking.job().evaluation.tasks = {scratch.write("boats.jsonl", choices + "\n" + choices + "\n" + choices + "\n"),
                                   scratch.write("words.jsonl", word + "\n")};
  asking.job().evaluation.max_questions = 2;
  asking.train();
  plain.train();
  EXPECT_EQ(read_metrics(asking.directory(), "train").back().at("loss"),
            read_metrics(plain.directory(), "train").back().at("loss"));
  const auto lines = read_metrics(asking.directory(), "eval");
  ASSERT_EQ(lines.size(), 2u);
  for (const auto& line : lines) {
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    const LoadedModel loaded = load_model(context, mesh, asking.checkpoint(line.at("step")));
    const ChoiceReport expected =
        answer_questions(text_generator(loaded), read_tasks(asking.job(), *loaded.target_tokenizer).at(0));
    EXPECT_EQ(line.at("boats_accuracy"), expected.accuracy(expected.right_by_sum));
    EXPECT_EQ(line.at("boats_accuracy_per_byte"), expected.accuracy(expected.right_by_byte));
    EXPECT_THAT(line.at("boats_accuracy_signature").get<std::string>(), HasSubstr("2 questions"));
    EXPECT_GT(line.at("words_perplexity").get<double>(), 1);
    EXPECT_TRUE(line.contains("words_accuracy_signature"));
  }
}

TEST(Tasks, AreRefusedBeforeTheRun) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().evaluation.tasks = {scratch.write("long.jsonl", "{\"text\": \"the boatsboats\"}\n")};
  EXPECT_THAT(error_of<ConfigError>([&] { run.train(); }), HasSubstr("evaluation.tasks: nothing is evaluated"));
  run.job().evaluation.every_steps = 4;
  EXPECT_THAT(error_of<DataError>([&] { run.train(); }), HasSubstr("question 1 of long: an ending has 11 tokens"));
  const std::string word = "{\"text\": \"the b\"}\n";
  fs::create_directory(scratch / "other");
  run.job().evaluation.tasks = {scratch.write("words.jsonl", word), scratch.write("other/words.jsonl", word)};
  EXPECT_THAT(error_of<DataError>([&] { run.train(); }), HasSubstr("two files are named words"));
  run.job().evaluation.tasks = {(scratch / "none.jsonl").string()};
  EXPECT_THAT(error_of<DataError>([&] { run.train(); }), HasSubstr("none.jsonl"));
}

}  // namespace
}  // namespace weft
