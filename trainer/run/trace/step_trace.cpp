// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/trace/step_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "parallel/agree.h"
#include "trainer/run/trace/trace_file.h"
#include "trainer/run/trace/trace_table.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// A rank's part of the trace, as it travels to rank 0: a line of JSON, and its events unless they are left out.
struct Part {
  Json about;
  std::string events;

  std::string text() const { return about.dump() + "\n" + events; }
  static Part of(const std::string& text) {
    const size_t end = text.find('\n');
    return {parse_json<Json>(std::string_view(text).substr(0, end), "a part of a trace"), text.substr(end + 1)};
  }
};

Spread spread_over(const std::vector<Part>& parts, const char* what) {
  std::vector<double> values;
  for (const Part& part : parts) values.push_back(part.about[what].get<double>());
  return spread_of(std::move(values));
}

}  // namespace

StepTrace::StepTrace(const JobConfig& job, Context& context, Mesh& mesh, const RunDirectory& directory,
                     Reporter& reporter)
    : context_(context), mesh_(mesh), world_(mesh.world()), directory_(directory), reporter_(reporter), job_(job.name) {
  if (job.train.trace.empty()) return;
  first_ = job.train.trace.front(), last_ = job.train.trace.back();
  mesh.trace_into(context.trace());
}

void StepTrace::before(int64_t step) {
  if (began_ > 0 || step < first_ || step > last_) return;
  offset_ = clock_offset(world_);
  began_ = step, done_ = 0;
  mesh_.settle();  // the trace waits for the device alone, and would wait for ever where a rank is lost
  context_.trace().start();
}

void StepTrace::after(int64_t step) {
  if (began_ == 0) return;
  done_ = step;
  if (step >= last_) end();
}

void StepTrace::end() {
  if (began_ == 0) return;
  mesh_.settle();
  const Trace::Record record = context_.trace().stop();
  if (done_ > 0) gather(record);
  began_ = 0;
}

void StepTrace::gather(const Trace::Record& record) {
  const double began = std::chrono::duration<double>(record.zero.time_since_epoch()).count();
  const double seconds = steady_seconds() - began;
  // All ranks' times are those of rank 0's clock, counted from the start of the rank that began first.
  const double begin = began - offset_.seconds;
  const double zero = -world_.all_reduce_host(-begin, ReduceOp::Max);

  const bool host_computes = context_.device().kind != DeviceKind::Cuda;
  const std::vector<TraceRow> rows = rows_of(record.spans, seconds, host_computes);
  double busy = 0;
  for (const TraceRow& row : rows) busy += row.kind == SpanKind::Operation ? row.seconds : 0;
  const bool slowest = busy == world_.all_reduce_host(busy, ReduceOp::Max);
  Part part{
      .about = {{"seconds", seconds}, {"clock_error", offset_.error}, {"lost", record.lost}, {"rows", to_json(rows)}}};
  if (world_.rank() < kMostRanks || slowest) {
    part.events = trace_events({.rank = world_.rank(),
                                .name = fmt::format("rank {} on {}", world_.rank(), host_name()),
                                .begin = begin - zero},
                               record.spans);
  }
  const std::vector<std::string> parts = gather_on_rank0(world_, part.text());
  if (world_.rank() == 0) keep(parts);
}

// On rank 0, whose thread for files writes the file.
void StepTrace::keep(const std::vector<std::string>& texts) {
  std::vector<Part> parts;
  for (const std::string& text : texts) parts.push_back(Part::of(text));
  const int64_t steps = done_ - began_ + 1;
  std::vector<std::vector<TraceRow>> rows;
  std::vector<std::string> events;
  Json lost = Json::array();
  for (Part& part : parts) {
    rows.push_back(rows_of_json(part.about["rows"]));
    lost.push_back(part.about["lost"]);
    if (!part.events.empty()) events.push_back(std::move(part.events));
  }
  const auto path = directory_.path() / fmt::format("trace-{}-{}.json", began_, done_);
  const Spread seconds = spread_over(parts, "seconds");
  const double error = spread_over(parts, "clock_error").max;
  const auto count = static_cast<double>(steps);
  reporter_.traced(done_,
                   {{"first", began_},
                    {"file", path.filename().string()},
                    {"ranks", parts.size()},
                    {"clock_error_ms", 1e3 * error},
                    {"step_ms", {1e3 * seconds.min / count, 1e3 * seconds.median / count, 1e3 * seconds.max / count}},
                    {"rows", joined_rows(rows, steps)}});
  const Json about = {{"program", "weft"},
                      {"job", job_},
                      {"steps", {began_, done_}},
                      {"clock_error_microseconds", 1e6 * error},
                      {"spans_left_out_by_rank", lost}};
  writing_.add([path, file = trace_file(events, about)] {
    try {
      write_file_atomically(path, file);
    } catch (const std::exception& failed) {
      log_warning("the trace was not kept: {}", describe(failed));
    }
  });
}

}  // namespace weft
