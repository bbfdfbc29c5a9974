// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/schedule.h"

#include <gtest/gtest.h>

#include <bitset>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace weft::cuda_device {
namespace {

// Operations that append letters: the string shows the order in which they ran.
class Letters : public testing::Test {
 protected:
  Letters() { restart(1); }
  void restart(uint64_t seed) {
    schedule = std::make_unique<Schedule>(seed);
    said.clear();
  }
  OpId put(Stream& stream, char letter) {
    return schedule->enqueue(stream, {std::string(1, letter), [this, letter](OpId) { said += letter; }});
  }
  std::string run() {
    while (schedule->step()) {
    }
    return said;
  }
  bool ordered(OpId before, OpId after) const { return schedule->operations().ordered(before, after); }

  std::unique_ptr<Schedule> schedule;
  std::string said;
};

TEST_F(Letters, NothingRunsBeforeTheHostWaits) {
  put(schedule->create_stream(0, false), 'a');
  EXPECT_EQ(said, "");
  EXPECT_EQ(run(), "a");
}

TEST_F(Letters, EveryOrderThatTwoStreamsAllowIsDrawnAndNoOther) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    restart(seed);
    Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false);
    for (const char letter : {'a', 'b'}) put(one, letter);
    for (const char letter : {'1', '2'}) put(two, letter);
    seen.insert(run());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ab12", "a1b2", "a12b", "1ab2", "1a2b", "12ab"}));
}

TEST_F(Letters, ASeedGivesTheSameOrderAgain) {
  const auto order_of = [&](uint64_t seed) {
    restart(seed);
    for (char letter = 'a'; letter < 'q'; ++letter) put(schedule->create_stream(0, false), letter);
    return run();
  };
  EXPECT_EQ(order_of(5), order_of(5));
  EXPECT_NE(order_of(5), order_of(6));
}

TEST_F(Letters, AnEventOrdersWhatComesBeforeItAndAfterItsWait) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    restart(seed);
    Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false);
    Event event;
    const OpId a = put(one, 'a');
    schedule->record(event, one);
    const OpId b = put(one, 'b'), before = put(two, '1');
    schedule->wait(two, event);
    const OpId after = put(two, '2');
    EXPECT_TRUE(ordered(a, after));
    EXPECT_FALSE(ordered(b, after));
    EXPECT_FALSE(ordered(a, before));
    EXPECT_FALSE(ordered(after, a));
    const std::string order = run();
    EXPECT_LT(order.find('a'), order.find('2')) << order;
    seen.insert(order);
  }
  EXPECT_TRUE(seen.contains("1a2b") && seen.contains("ab12") && seen.contains("a12b"));
}

TEST_F(Letters, AnEventThatWasNeverRecordedHoldsNothingUp) {
  Stream& stream = schedule->create_stream(0, false);
  schedule->wait(stream, Event{});
  put(stream, 'a');
  EXPECT_EQ(run(), "a");
}

TEST_F(Letters, OrderPassesOnThroughAThirdStream) {
  Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false),
         &three = schedule->create_stream(0, false);
  Event first, second;
  const OpId a = put(one, 'a');
  schedule->record(first, one);
  schedule->wait(two, first);
  schedule->record(second, two);
  schedule->wait(three, second);
  EXPECT_TRUE(ordered(a, put(three, 'c')));
}

TEST_F(Letters, AHostWaitOrdersLaterOperationsOnly) {
  Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false);
  const OpId a = put(one, 'a'), early = put(two, 'b');
  run();
  EXPECT_FALSE(schedule->host_knows(a));
  schedule->host_waited(a);
  EXPECT_TRUE(schedule->host_knows(a));
  EXPECT_FALSE(ordered(a, early));
  EXPECT_TRUE(ordered(a, put(two, 'c')));
}

TEST_F(Letters, TheLegacyStreamIsOrderedWithBlockingStreamsAlone) {
  Stream &blocking = schedule->create_stream(0, true), &other = schedule->create_stream(0, false),
         &elsewhere = schedule->create_stream(1, true);
  Stream& legacy = schedule->legacy_stream(0);
  const OpId before = put(blocking, 'a'), free = put(other, 'b'), far = put(elsewhere, 'c');
  const OpId middle = put(legacy, 'd');
  const OpId after = put(blocking, 'e'), free_after = put(other, 'f');
  EXPECT_TRUE(ordered(before, middle));
  EXPECT_FALSE(ordered(free, middle));
  EXPECT_FALSE(ordered(far, middle));
  EXPECT_TRUE(ordered(middle, after));
  EXPECT_FALSE(ordered(middle, free_after));
}

TEST_F(Letters, ALongRunNeedsBoundedMemoryWhereTheHostWaitsNowAndThen) {
  Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false);
  Event event;
  size_t most = 0;
  for (int step = 0; step < 2000; ++step) {
    for (int k = 0; k < 20; ++k) put(one, 'a');
    schedule->record(event, one);
    schedule->wait(two, event);
    for (int k = 0; k < 20; ++k) put(two, 'b');
    run();
    schedule->host_waited(two.last);
    most = std::max(most, schedule->operations().kept());
  }
  EXPECT_LT(most, 1000u);
  EXPECT_EQ(said.size(), 80000u);
}

// Compares clocks, with forgetting, with sets of predecessors, for random programs longer than what is kept.
TEST(Schedule, OrdersAsThePredecessorsOfEachOperationSay) {
  constexpr size_t kMost = 12000;
  using Set = std::bitset<kMost>;
  std::mt19937 random(3);
  Schedule schedule(7);
  std::vector<Set> before(1);  // by operation: the operations before it
  std::vector<Stream*> streams;
  std::map<const Stream*, Set> known;  // by stream: the operations that its next one comes after
  Set host;
  size_t asked = 0, wrong = 0;
  const auto sure = [&](Stream& stream) {  // records the operation that was just queued
    known[&stream] |= host;
    before.push_back(known[&stream]);
    known[&stream].set(before.size() - 1);
  };
  for (int k = 0; k < 4; ++k) streams.push_back(&schedule.create_stream(0, false));
  while (before.size() < kMost - 2) {
    Stream &one = *streams[random() % 4], &two = *streams[random() % 4];
    const uint32_t draw = random() % 100;
    if (draw < 10 && &one != &two) {
      Event event;
      schedule.record(event, one);
      sure(one);
      schedule.wait(two, event);
      known[&two] |= known[&one];
      sure(two);
    } else if (draw < 12) {
      while (!schedule.finished(one.last)) schedule.step();
      schedule.host_waited(one.last);
      host |= known[&one];
    } else {
      schedule.enqueue(one, {"work", [&](OpId running) {
                               for (int k = 0; k < 5; ++k) {
                                 const OpId other = 1 + random() % running;
                                 if (other == running) continue;
                                 ++asked;
                                 wrong += schedule.operations().ordered(other, running) != before[running][other];
                               }
                             }});
      sure(one);
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(asked, 20000u);
  EXPECT_LT(schedule.operations().kept(), kMost / 2);  // otherwise nothing was forgotten
}

TEST_F(Letters, StreamsThatComeAndGoShareNumbers) {
  for (int k = 0; k < 1000; ++k) {
    Stream& stream = schedule->create_stream(0, false);
    EXPECT_LT(stream.number, 2u);
    const OpId last = put(stream, 'a');
    schedule->destroy_stream(stream);
    run();
    schedule->host_waited(last);
  }
  EXPECT_EQ(said.size(), 1000u);
}

TEST_F(Letters, AStreamThatIsDestroyedStillRunsWhatIsInIt) {
  Stream& stream = schedule->create_stream(0, false);
  put(stream, 'a');
  schedule->destroy_stream(stream);
  EXPECT_EQ(run(), "a");
}

// A captured diamond: a, then b and c side by side, then d.
class Diamond : public Letters {
 protected:
  std::shared_ptr<Graph> capture(Stream& one, Stream& two, bool joined) {
    Event fork, join;
    schedule->begin_capture(one);
    put(one, 'a');
    schedule->record(fork, one);
    schedule->wait(two, fork);
    put(two, 'c');
    schedule->record(join, two);
    put(one, 'b');
    if (joined) schedule->wait(one, join);
    put(one, 'd');
    return schedule->end_capture(one);
  }
};

TEST_F(Diamond, RunsOnlyWhenLaunchedAndInEveryOrderThatItsEventsAllow) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    restart(seed);
    Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false);
    const auto graph = capture(one, two, true);
    ASSERT_TRUE(graph);
    EXPECT_EQ(run(), "");
    Stream& branch = schedule->create_stream(0, false);
    schedule->replay(*graph, one, {&branch});
    put(one, '.');
    schedule->replay(*graph, one, {&branch});
    seen.insert(run());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"abcd.abcd", "acbd.abcd", "abcd.acbd", "acbd.acbd"}));
}

TEST_F(Diamond, MustBeJoined) {
  Stream &one = schedule->create_stream(0, false), &two = schedule->create_stream(0, false);
  EXPECT_FALSE(capture(one, two, false));
  EXPECT_FALSE(two.capture);
  put(two, 'x');
  EXPECT_EQ(run(), "x");
}

}  // namespace
}  // namespace weft::cuda_device
