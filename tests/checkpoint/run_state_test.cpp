// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/run_state.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using Json = nlohmann::ordered_json;

RunState some_state() {
  return {.run = "abc",
          .step = 120,
          .updates = 118,
          .position = {3, 7},
          .target_tokens = int64_t{1} << 40,
          .skips = 2,
          .skips_in_row = 1,
          .rollbacks = 2,
          .best_loss = 0.1 + 0.2,
          .best_score = 100.0 / 3,
          .evaluation = {{"batch.context_length", "16"}, {"text", "0123456789abcdef"}},
          .best_step = 100,
          .evaluations_since_best = 1,
          .epoch_end = true,
          .evaluation_left = true,
          .next_learning_rate = 1.0 / 3,
          .recent_losses = {0.1 + 0.2, 3},
          .recent_norms = {1.0 / 3, 5}};
}

RunState through_text(const RunState& state) { return run_state_from(Json::parse(to_json(state).dump()), "here"); }

TEST(RunState, ComesBackBitForBit) {
  EXPECT_EQ(through_text(some_state()), some_state());
  EXPECT_EQ(through_text({}), RunState{});  // a run that was never evaluated has an infinite best loss
}

TEST(RunState, StatesOfOlderBuildsLackLaterFields) {
  Json json = to_json(some_state());
  for (const char* key : {"next_learning_rate", "evaluation_left", "rollbacks", "best_score", "evaluation",
                          "recent_losses", "recent_norms"}) {
    json.erase(key);
  }
  const RunState state = run_state_from(json, "here");
  EXPECT_FALSE(state.next_learning_rate);
  EXPECT_FALSE(state.best_score);
  EXPECT_FALSE(state.evaluation_left);
  EXPECT_EQ(state.rollbacks, 0);
  EXPECT_TRUE(state.evaluation.empty());
  EXPECT_TRUE(state.recent_losses.empty());
  json["best_bleu"] = 12.5;
  EXPECT_EQ(run_state_from(json, "here").best_score, 12.5);
}

TEST(RunState, UnreadableStatesAreErrorsWithTheirPlace) {
  const auto error_with = [](const std::string& key, const Json& value) {
    Json json = to_json(some_state());
    if (value.is_discarded()) {
      json.erase(key);
    } else {
      json[key] = value;
    }
    return error_of([&] { run_state_from(json, "runs/a/step-3"); });
  };
  const Json gone(Json::value_t::discarded);
  for (const char* key : {"run", "step", "updates", "epoch", "step_in_epoch", "best_loss", "epoch_end"}) {
    EXPECT_EQ(error_with(key, gone).rfind("runs/a/step-3: the run's state cannot be read", 0), 0u) << key;
  }
  EXPECT_NE(error_with("step", "many").find("\"many\" is no whole number"), std::string::npos);
  EXPECT_NE(error_with("evaluation", "loss").find("runs/a/step-3"), std::string::npos);
  EXPECT_NE(error_with("step", -1).find("contradict"), std::string::npos);
  EXPECT_NE(error_with("updates", 121).find("contradict"), std::string::npos);
  EXPECT_NE(error_with("recent_losses", Json::array({1.0})).find("1 recent losses and 2 norms"), std::string::npos);
  EXPECT_NE(error_with("recent_norms", Json::array({nullptr, 1.0})).find("cannot be read"), std::string::npos);
  EXPECT_NE(error_with("epoch", -1).find("contradict"), std::string::npos);
  EXPECT_NE(error_of([] { run_state_from(Json::array(), "there"); }).find("there"), std::string::npos);
}

}  // namespace
}  // namespace weft
