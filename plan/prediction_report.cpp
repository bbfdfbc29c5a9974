// SPDX-License-Identifier: Apache-2.0
#include "plan/prediction_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/step_plan_report.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string milliseconds(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

}  // namespace

double Prediction::tokens_per_second() const { return static_cast<double>(plan.target_tokens) / step.seconds(); }

double Prediction::utilisation(const DeviceSpec& device) const {
  return plan.model_flops / (step.seconds() * plan.layout.ranks() * stated_gflops(device, plan.precision) * 1e9);
}

std::vector<Prediction> predict(std::vector<StepPlan> plans, const DeviceSpec& device) {
  std::vector<Prediction> all;
  for (StepPlan& plan : plans) {
    const PredictedStep step = predict_step(plan, device);
    const bool fits = static_cast<double>(plan.peak_bytes) <= device.memory_gib * (1 << 30);
    all.push_back({std::move(plan), step, fits});
  }
  std::ranges::stable_sort(all, [](const Prediction& a, const Prediction& b) {
    return a.fits != b.fits ? a.fits : a.tokens_per_second() > b.tokens_per_second();
  });
  return all;
}

std::string describe(std::span<const Prediction> predictions, const DeviceSpec& device) {
  const StepPlan& first = predictions[0].plan;
  std::string text =
      fmt::format("Predicted for {}, not measured: {} parameters, {} target tokens a step; a step in ms:\n",
                  device.title, first.parameters, first.target_tokens);
  const auto add_line = [&](const auto&... columns) {
    text += fmt::format("{:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11} {:>6}", columns...);
  };
  add_line(grid_text(), "peak GiB", "+ host GiB", "products", "attention", "memory", "gaps", "tp waits", "dp waits",
           "host", "step", "tokens/s", "MFU");
  text += "\n";
  for (const Prediction& p : predictions) {
    add_line(p.plan.layout.text(), fmt::format("{:.1f}", static_cast<double>(p.plan.peak_bytes) / (1 << 30)),
             fmt::format("{:.1f}", static_cast<double>(p.plan.snapshot_bytes) / (1 << 30)),
             milliseconds(p.step.products), milliseconds(p.step.attention), milliseconds(p.step.memory),
             milliseconds(p.step.gaps), milliseconds(p.step.shards), milliseconds(p.step.replicas),
             milliseconds(p.step.host), milliseconds(p.step.seconds()), fmt::format("{:.0f}", p.tokens_per_second()),
             fmt::format("{:.1f}%", 100 * p.utilisation(device)));
    text += p.fits ? "\n" : "  does not fit\n";
  }
  const Reach reach;
  text += "Host: the copy that a save writes from. ";
  text += fmt::format(
      "MFU: useful FLOPs over {:.0f} TFLOP/s a device. Assumed: {:.0f} % of that\nwhile a product's tiles are "
      "multiplied, "
      "{:.0f} % of {:.0f} GB/s of memory, {:.0f} % of {:.0f} GB/s to devices of a node and of {:.0f} GB/s beyond.\n"
      "docs/layouts.md describes the model.\n",
      stated_gflops(device, first.precision) * 1e-3, 100 * device.product_share, 100 * reach.memory, device.memory_gbps,
      100 * reach.links, device.link_gbps, device.network_gbps);
  return text;
}

namespace {

Json layout_json(const Prediction& p, const DeviceSpec& device) {
  Json out = to_json(p.plan, RankCapacity());
  out["seconds"] = p.step.seconds();
  out["predicted"] = {{"device", device.name},
                      {"fits", p.fits},
                      {"products_seconds", p.step.products},
                      {"attention_seconds", p.step.attention},
                      {"memory_seconds", p.step.memory},
                      {"gap_seconds", p.step.gaps},
                      {"tp_seconds", p.step.shards},
                      {"dp_exposed_seconds", p.step.replicas},
                      {"host_seconds", p.step.host},
                      {"launches", p.step.launches},
                      {"tokens_per_second", p.tokens_per_second()},
                      {"mfu", p.utilisation(device)}};
  return out;
}

Json assumptions(const DeviceSpec& device) {
  const Reach reach;
  return {
      {"device", device.title},
      {"memory_gib", device.memory_gib},
      {"memory_gbps", device.memory_gbps},
      {"bf16_teraflops", device.bf16_teraflops},
      {"fp32_teraflops", device.fp32_teraflops},
      {"link_gbps", device.link_gbps},
      {"network_gbps", device.network_gbps},
      {"devices_per_node", device.per_node},
      {"multiprocessors", device.multiprocessors},
      {"share_of_products", device.product_share},
      {"steps_to_start_a_tile", reach.tile_start},
      {"attention_teraflops", {{"own", device.own_attention_teraflops}, {"cudnn", device.library_attention_teraflops}}},
      {"share_of_memory", reach.memory},
      {"share_of_links", reach.links},
      {"gap_seconds", {{"queue", reach.gap}, {"graph", reach.graph_gap}, {"step", reach.step}}},
      {"host_seconds_per_kernel", {{"queue", reach.launch}, {"graph", reach.graph_launch}}},
      {"hop_seconds", {{"link", reach.link_hop}, {"network", reach.network_hop}}}};
}

}  // namespace

Json to_json(std::span<const Prediction> predictions, const DeviceSpec& device) {
  Json all = Json::array();
  for (const Prediction& p : predictions) all.push_back(layout_json(p, device));
  return {{"what", "a prediction, not a measurement"}, {"assumed", assumptions(device)}, {"layouts", std::move(all)}};
}

}  // namespace weft
