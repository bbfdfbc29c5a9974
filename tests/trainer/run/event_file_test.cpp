// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/logs/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/scratch.h"
#include "tests/trainer/run/event_records.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

std::vector<EventRecord> events_of(const Scratch& scratch, int attempt) {
  return event_records(read_file(scratch / "tensorboard" / fmt::format("events.out.tfevents.{:010}.weft", attempt)));
}

TEST(EventFile, NumbersAreScalarsOfTheirEvent) {
  const Scratch scratch;
  const double before = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  {
    EventFile file(scratch.path(), 0);
    file.write("train", 7, {{"loss", 0.1}, {"tokens", 300}, {"busy_ms", {1, 2.5, 4}}, {"spike", true}, {"path", "a"}});
    file.write("save", 8, {{"path", "run/checkpoints"}});
    file.write("eval", 1 << 20, {{"loss", std::nan("")}});
  }
  const std::vector<EventRecord> events = events_of(scratch, 0);
  ASSERT_EQ(events.size(), 3) << "an event without numbers is none here";
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_GE(events[1].time, before);
  EXPECT_LT(events[1].time, before + 60);
  EXPECT_EQ(events[1].step, 7);
  EXPECT_THAT(events[1].scalars, UnorderedElementsAre(Pair("train/loss", 0.1F), Pair("train/tokens", 300),
                                                      Pair("train/busy_ms/min", 1), Pair("train/busy_ms/median", 2.5F),
                                                      Pair("train/busy_ms/max", 4), Pair("train/spike", 1)));
  EXPECT_EQ(events[2].step, 1 << 20);
  EXPECT_TRUE(std::isnan(events[2].scalars.at("eval/loss")));
}

TEST(EventFile, GenerationsAreTextsAsTheyAre) {
  const Scratch scratch;
  {
    EventFile file(scratch.path(), 0);
    const nlohmann::ordered_json made = {{{"temperature", 0.7}, {"prompt", "a \xff"}, {"text", "# one\n<b>two\x1b"}},
                                         {{"temperature", 0}, {"prompt", "b"}, {"text", ""}}};
    file.write("generations", 3, {{"generations", made}});
  }
  EXPECT_THAT(events_of(scratch, 0).at(1).texts,
              UnorderedElementsAre(Pair("generation/a \\xff (temperature 0.7)", "    # one\n    <b>two\\x1b"),
                                   Pair("generation/b (temperature 0)", "    ")));
}

TEST(EventFile, WhatCameAfterAResumeOrARollbackIsForgotten) {
  const Scratch scratch;
  {
    EventFile file(scratch.path(), 0);
    file.write("start", 0, {{"max_steps", 9}});
    file.write("roll_back", 4, {{"from_step", 6}});
  }
  EventFile(scratch.path(), 1).write("start", 4, nlohmann::ordered_json::object());
  std::vector<int64_t> starts;
  for (const int attempt : {0, 1}) {
    for (const EventRecord& event : events_of(scratch, attempt)) {
      if (event.starts_session) starts.push_back(event.step);
    }
  }
  EXPECT_THAT(starts, ElementsAre(1, 5, 5));
}

TEST(EventFile, AFolderThatCannotBeMadeIsAWarning) {
  const Scratch scratch;
  scratch.write("tensorboard", "a file");
  testing::internal::CaptureStderr();
  EventFile(scratch.path(), 0).write("train", 1, {{"loss", 1.0}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("TensorBoard's events are not written: "));
}

}  // namespace
}  // namespace weft
