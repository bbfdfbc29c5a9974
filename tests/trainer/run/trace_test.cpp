// SPDX-License-Identifier: Apache-2.0
// train.trace: one timeline of all ranks, a table of where the time went, and the bits of a run without it.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/trace/trace_file.h"
#include "trainer/run/trace/trace_table.h"

namespace weft {
namespace {

using namespace test;
using Json = nlohmann::ordered_json;

constexpr double kRounding = 0.0021;  // microseconds; files have three digits of them

struct TracedRun {
  explicit TracedRun(const Scratch& scratch, const std::string& name = "run") : run(scratch, name) {
    run.job().evaluation.every_steps = 4;
    run.job().parallel.zero_stage = ZeroStage::Gradients;
  }
  std::vector<TrainResult> train(int ranks) {
    std::vector<TrainResult> results(static_cast<size_t>(ranks));
    run_in_process({.dp = ranks}, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, run.job());
      results[static_cast<size_t>(rank)] = trainer.run({});
    });
    return results;
  }
  Json file(const std::string& name) const { return Json::parse(read_file(run.directory() / name, 64 << 20)); }
  Json line() const {
    const auto lines = read_metrics(run.directory(), "trace");
    return lines.size() == 1 ? lines[0] : Json();
  }

  SmallRun run;
};

struct Slice {
  std::string name, kind;
  double begin, end;
};

int process_of(int rank) { return 10 * (rank + 1); }

// The slices of a thread of a rank, in the order of their beginnings, those that hold others first.
std::vector<Slice> slices(const Json& trace, int rank, int thread) {
  std::vector<Slice> all;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["tid"] != process_of(rank) + thread) continue;
    EXPECT_EQ(event["pid"], process_of(rank));
    const double begin = event["ts"];
    all.push_back({event["name"], event["cat"], begin, begin + event["dur"].get<double>()});
  }
  std::ranges::stable_sort(
      all, [](const Slice& a, const Slice& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  return all;
}

void expect_nested(const std::vector<Slice>& all) {
  std::vector<Slice> open;
  for (const Slice& slice : all) {
    while (!open.empty() && open.back().end <= slice.begin + kRounding) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(slice.end, open.back().end + kRounding) << slice.name << " in " << open.back().name;
    }
    open.push_back(slice);
  }
}

std::vector<std::string> names(const std::vector<Slice>& all, const std::string& kind) {
  std::vector<std::string> found;
  for (const Slice& slice : all) {
    if (slice.kind == kind) found.push_back(slice.name);
  }
  return found;
}

// The names of a rank's collectives in the order of their beginnings; each ends once, after it has begun.
std::vector<std::string> collectives(const Json& trace, int rank) {
  std::vector<std::pair<double, std::string>> begun;
  std::map<std::string, double> open;
  for (const Json& event : trace["traceEvents"]) {
    if (event["pid"] != process_of(rank) || event["ph"] == "M" || event["ph"] == "X") continue;
    const std::string id = event["id2"]["local"];
    const double at = event["ts"];
    if (event["ph"] == "b") {
      EXPECT_TRUE(open.emplace(id, at).second) << id;
      begun.emplace_back(at, event["name"]);
    } else {
      EXPECT_EQ(event["ph"], "e");
      EXPECT_TRUE(open.contains(id) && open[id] <= at) << id;
      open.erase(id);
    }
  }
  EXPECT_TRUE(open.empty());
  std::ranges::stable_sort(begun, {}, [](const auto& one) { return one.first; });
  std::vector<std::string> all;
  for (const auto& [at, name] : begun) all.push_back(name);
  return all;
}

TEST(StepTraces, HoldStepsOperationsCollectivesDataAndSavesOfAllRanks) {
  const Scratch scratch;
  TracedRun traced(scratch);
  traced.run.job().train.trace = {3, 5};
  traced.train(2);
  const Json trace = traced.file("trace-3-5.json");
  for (const int rank : {0, 1}) {
    SCOPED_TRACE(rank);
    const std::vector<Slice> queue = slices(trace, rank, 0);
    expect_nested(queue);
    EXPECT_GE(names(queue, "operation").size(), 30u);
    const std::vector<std::string> phases = names(queue, "phase");
    for (const char* phase : {"step 3", "step 4", "step 5", "forward of micro-batch 0", "backward of micro-batch 0",
                              "update", "evaluation"}) {
      EXPECT_THAT(phases, testing::Contains(phase));
    }
    EXPECT_EQ(std::ranges::count(phases, "update"), 3);
    EXPECT_THAT(names(slices(trace, rank, 1), "control"), testing::Contains("world.all_reduce"));
    EXPECT_THAT(names(slices(trace, rank, 3), "save"), testing::IsSupersetOf({"copy", "write"}));
    const std::vector<std::string> begun = collectives(trace, rank);
    EXPECT_THAT(begun, testing::Contains(testing::StartsWith("dp.reduce_scatter")));
    EXPECT_EQ(begun, collectives(trace, 0)) << "ranks begin the same collectives in the same order";
    EXPECT_EQ(names(queue, "wait").size(), begun.size() + 3) << "each is waited for once, and a save's copies a step";
  }
}

// The loader reads at most four steps before the first begins, so the rest while they are traced.
TEST(StepTraces, HoldWhatTheLoaderReadsAhead) {
  const Scratch scratch;
  TracedRun traced(scratch);
  traced.run.job().train.trace = {1, 8};
  traced.train(1);
  const std::vector<Slice> read = slices(traced.file("trace-1-8.json"), 0, 2);
  EXPECT_GE(names(read, "load").size(), 4u);
  expect_nested(read);
}

// The rows of each rank and what no row covers are the whole time.
TEST(StepTraces, TheTableSaysWhereTheTimeWent) {
  const Scratch scratch;
  TracedRun traced(scratch);
  traced.run.job().train.trace = {2, 3};
  traced.train(1);
  const Json line = traced.line();
  EXPECT_EQ(line["step"], 3);
  EXPECT_EQ(line["first"], 2);
  EXPECT_EQ(line["ranks"], 1);
  EXPECT_EQ(line["file"], "trace-2-3.json");
  EXPECT_EQ(line["clock_error_ms"], 0);
  double sum = 0, longest = 1e300;
  std::set<std::string> kinds;
  for (const Json& row : line["rows"]) {
    const double least = row["ms"][0], median = row["ms"][1], most = row["ms"][2];
    EXPECT_LE(least, median);
    EXPECT_LE(median, most);
    EXPECT_LE(median, longest) << "the longest first";
    longest = median;
    if (row["kind"] != "save" && row["kind"] != "load") sum += median;
    kinds.insert(row["kind"]);
    if (row["what"] == "linear_forward") {
      EXPECT_EQ(row["calls"].get<double>(), std::floor(row["calls"].get<double>()));
      EXPECT_GT(row["flops"], 0);
    }
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"operation", "phase"}));
  EXPECT_NEAR(sum, line["step_ms"][1], 1e-6 * sum);
}

TEST(StepTraces, ChangeNoBits) {
  const Scratch scratch;
  TracedRun plain(scratch, "plain"), traced(scratch, "traced");
  traced.run.job().train.trace = {2, 6};
  traced.run.job().data = plain.run.job().data;
  const auto losses = [](const TracedRun& of) {
    std::vector<double> all;
    for (const Json& line : read_metrics(of.run.directory(), "train")) all.push_back(line["loss"]);
    return all;
  };
  plain.train(2), traced.train(2);
  EXPECT_EQ(losses(plain).size(), 8u);
  EXPECT_EQ(losses(plain), losses(traced));
  EXPECT_TRUE(traced.line().is_object());
  EXPECT_TRUE(plain.line().is_null());
}

TEST(StepTraces, EndWhereTheRunEndsAndBeginWhereItResumes) {
  const Scratch scratch;
  TracedRun traced(scratch);
  traced.run.job().train.trace = {3, 100};
  traced.run.job().train.max_steps = 4;
  traced.train(1);
  EXPECT_TRUE(traced.file("trace-3-4.json")["traceEvents"].is_array());
  traced.run.job().allow_changes = {"train.max_steps"};
  traced.run.job().train.max_steps = 6;
  traced.train(1);
  EXPECT_TRUE(traced.file("trace-5-6.json")["traceEvents"].is_array());
  traced.run.job().train.trace = {3, 5};
  traced.run.job().train.max_steps = 7;
  traced.train(1);
  EXPECT_FALSE(fs::exists(traced.run.directory() / "trace-7-7.json"));
}

TEST(StepTraces, ATraceThatCannotBeKeptEndsNoRun) {
  const Scratch scratch;
  TracedRun traced(scratch);
  traced.run.job().train.trace = {2, 2};
  fs::create_directories(traced.run.directory() / "trace-2-2.json");  // a folder in its place
  EXPECT_EQ(traced.train(1)[0].step, 8);
}

// Three ranks of which the second has a wait alone, and one bucket's number is not another row.
TEST(StepTraces, RowsOfRanksAreJoined) {
  const auto span = [](SpanKind kind, const char* what, double begin, double end) {
    return TraceSpan{.kind = kind, .what = what, .begin = begin, .end = end};
  };
  const std::vector<TraceSpan> first = {
      span(SpanKind::Operation, "matmul", 0, 1), span(SpanKind::Wait, "dp.all_reduce, bucket 0", 1, 2),
      span(SpanKind::Wait, "dp.all_reduce, bucket 12", 2, 4),
      span(SpanKind::Collective, "dp.all_reduce, bucket 0", 0, 2), span(SpanKind::Data, "tokens", 4, 5)};
  const std::vector<TraceSpan> second = {span(SpanKind::Wait, "dp.all_reduce, bucket 0", 0, 1)};
  const std::vector<std::vector<TraceRow>> ranks = {rows_of(first, 10, true), rows_of(second, 10, true),
                                                    rows_of(first, 10, false)};
  EXPECT_EQ(to_json(rows_of_json(to_json(ranks[0]))), to_json(ranks[0]));
  const Json joined = joined_rows(ranks, 2);
  const auto row = [&](const std::string& what) {
    for (const Json& one : joined) {
      if (one["what"] == what) return one["ms"].dump() + " " + one["calls"].dump();
    }
    return std::string();
  };
  EXPECT_EQ(joined.size(), 4u);
  EXPECT_EQ(row("matmul"), "[0.0,500.0,500.0] 0.5");
  EXPECT_EQ(row("dp.all_reduce, bucket"), "[500.0,1500.0,1500.0] 1.0");
  EXPECT_EQ(row("tokens"), "[0.0,500.0,500.0] 0.5");
  EXPECT_EQ(row("other"), "[2500.0,3000.0,4500.0] 0.5") << "a device does other work while its host waits";
}

TEST(StepTraces, NamesAreNeverMarkupOfTheFile) {
  const TraceSpan span{.kind = SpanKind::Operation, .what = "a \"quoted\"\n\x01\xff</script>", .begin = 1, .end = 2};
  const std::vector<std::string> events = {
      trace_events({.rank = 0, .name = "rank 0 on \"x\"", .begin = 0.5}, {&span, 1})};
  const Json file = Json::parse(trace_file(events, {{"job", "j"}}));
  const Json& last = file["traceEvents"].back();
  EXPECT_EQ(last["name"], "a \"quoted\"\n\x01\xEF\xBF\xBD</script>");
  EXPECT_EQ(last["ts"], 1.5e6);
  EXPECT_EQ(last["dur"], 1e6);
  EXPECT_EQ(file["otherData"]["job"], "j");
}

}  // namespace
}  // namespace weft
