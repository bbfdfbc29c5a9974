// SPDX-License-Identifier: Apache-2.0
// The report of a measurement of steps: a page, and JSON.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "bench/step_bench.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string part_line(const char* name, double seconds, double total) {
  return fmt::format("  {:<22} {:>10.3f} ms  {:>5.1f} %\n", name, 1e3 * seconds, 100 * seconds / total);
}

// The operations by their time, the longest first: milliseconds and calls a step, and the rates that their costs give.
std::string operations_table(const BenchReport& r) {
  std::vector<std::pair<std::string, Ledger::Entry>> all(r.operations.begin(), r.operations.end());
  std::ranges::sort(all, std::ranges::greater(), [](const auto& entry) { return entry.second.seconds; });
  const auto steps = static_cast<double>(r.steps.size());
  std::string text = "operation                  ms/step  calls  GFLOP/s     GB/s\n";
  for (const auto& [name, e] : all) {
    text += fmt::format("{:<24} {:>9.3f} {:>6.0f} {:>8.1f} {:>8.1f}\n", name, 1e3 * e.seconds / steps,
                        static_cast<double>(e.calls) / steps, 1e-9 * e.flops / e.seconds, 1e-9 * e.bytes / e.seconds);
  }
  return text;
}

double gibibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

// "dp 2 x tp 1"
std::string axes_text(const MeshLayout& layout) {
  std::vector<std::string> axes;
  for (const GridAxis& grid : kGridAxes) axes.push_back(fmt::format("{} {}", name(grid.axis), layout.*grid.size));
  return fmt::format("{}", fmt::join(axes, " x "));
}

// Which steps a graph's replay stands for: a first step of a shape, and a captured one, take longer than those after
// it.
std::string graphs_line(const BenchReport& r) {
  const int64_t steps = std::ssize(r.steps), queued = steps - r.replayed;
  std::string text = fmt::format("replayed as CUDA graphs: {} of {}", r.replayed - r.captured, counted(steps, "step"));
  if (r.captured + queued > 0) {
    text += fmt::format(
        "; {} were captured and {} queued operation by operation, for shapes that are new: more --warmup "
        "leaves fewer of them",
        r.captured, queued);
  }
  return text + "\n";
}

// Null if the figure was not measured: an unknown figure is never a number.
Json known(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json parts_json(const StepParts& parts) {
  return {{"total", parts.total},     {"data_wait", parts.data},  {"compute", parts.compute},
          {"exposed", parts.exposed}, {"control", parts.control}, {"update", parts.update}};
}

}  // namespace

std::string describe(const BenchReport& r) {
  const StepParts mean = r.mean();
  std::string text = fmt::format("{} parameters, {}, {} x {}\n", r.parameters, r.precision, axes_text(r.layout),
                                 counted(r.threads, "thread"));
  text += fmt::format("{}; {}\n", r.processor, r.library);
  text += fmt::format("{}; vocabulary {}\n", r.data, r.vocabulary);
  text += fmt::format("{} after {} to warm up: {:.1f} target tokens/s; a step takes {:.3f} ms (median)\n",
                      counted(std::ssize(r.steps), "step"), r.warmup, r.tokens_per_second(), 1e3 * r.median_seconds());
  text += part_line("compute", mean.compute, mean.total);
  text += part_line("exposed communication", mean.exposed, mean.total);
  text += part_line("control all-reduce", mean.control, mean.total);
  text += part_line("optimizer", mean.update, mean.total);
  text += part_line("data wait", mean.data, mean.total);
  if (r.replayed > 0) text += graphs_line(r);
  text += fmt::format("{:.1f} GFLOP/s, counting {}\n", r.gflops(), r.formula);
  text += r.peak.gflops > 0
              ? fmt::format("{:.1f} % of the measured peak, {:.1f} GFLOP/s: the best of a sweep of products, {}\n",
                            100 * r.peak_share(), r.peak.gflops, r.peak.shape)
              : std::string("peak: not measured\n");
  text += r.stated_gflops > 0 ? fmt::format("MFU {:.1f} %, of the {:.1f} TFLOP/s that the maker states\n",
                                            100 * r.utilisation(), r.stated_gflops * 1e-3)
                              : std::string("MFU: n/a (what this processor could do is not known)\n");
  text +=
      fmt::format("peak memory: {:.3f} GiB of tensors, {:.3f} GiB of the process{}\n", gibibytes(r.peak_tensor_bytes),
                  gibibytes(r.peak_process_bytes), r.layout.ranks() > 1 ? ", of the rank with most" : "");
  if (!r.operations.empty()) text += operations_table(r);
  if (r.skipped > 0)
    text += fmt::format("{} had no finite loss: {} update did nothing\n", counted(r.skipped, "step"),
                        r.skipped == 1 ? "its" : "their");
  return text;
}

Json to_json(const BenchReport& r) {
  Json steps = Json::array();
  for (size_t i = 0; i < r.steps.size(); ++i) {
    Json step = parts_json(r.steps[i]);
    step["target_tokens"] = r.target_tokens[i];
    step["rows"] = r.rows[i];
    steps.push_back(std::move(step));
  }
  Json operations = Json::object();
  for (const auto& [name, e] : r.operations) {
    operations[name] = {{"calls", e.calls}, {"seconds", e.seconds}, {"flops", e.flops}, {"bytes", e.bytes}};
  }
  Json json = {{"task", r.task}, {"precision", r.precision}, {"library", r.library}, {"processor", r.processor}};
  json.update(Json(r.layout));
  json.update({{"threads", r.threads},
               {"parameters", r.parameters},
               {"data", r.data},
               {"vocabulary", r.vocabulary},
               {"warmup_steps", r.warmup},
               {"tokens_per_second", r.tokens_per_second()},
               {"median_tokens_per_second", r.median_tokens_per_second()},
               {"median_step_seconds", r.median_seconds()},
               {"mean_seconds", parts_json(r.mean())},
               {"rank_compute_seconds", r.rank_compute},
               {"rank_exposed_seconds", r.rank_exposed},
               {"flops_formula", r.formula},
               {"gflops", r.gflops()},
               {"ceiling_gflops", known(r.peak.gflops)},
               {"ceiling_product", r.peak.shape.empty() ? Json(nullptr) : Json(r.peak.shape)},
               {"ceiling_share", known(r.peak_share())},
               {"hardware_peak_gflops", known(r.stated_gflops)},
               {"mfu", known(r.utilisation())},
               {"peak_tensor_bytes", r.peak_tensor_bytes},
               {"peak_process_bytes", r.peak_process_bytes},
               {"loss", r.loss},
               {"skipped_steps", r.skipped},
               {"replayed_steps", r.replayed},
               {"captured_steps", r.captured},
               {"operations", std::move(operations)},
               {"steps", std::move(steps)}});
  return json;
}

}  // namespace weft
