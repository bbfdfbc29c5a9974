// SPDX-License-Identifier: Apache-2.0
#include "pages/plots.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

bool has_values(const Curve& curve, const Json& run) { return run.at(curve.event).at("values").contains(curve.value); }

// Without label smoothing and z-loss both losses of a step are the same number.
bool has_loss_terms(const std::vector<Json>& runs) {
  return std::ranges::any_of(runs, [](const Json& run) {
    const Json& values = run.at("train").at("values");
    return values.contains("loss") && values.contains("nll") && values.at("loss") != values.at("nll");
  });
}

std::vector<Curve> loss_curves(const std::vector<Json>& runs) {
  const Curve validation{.event = "eval", .value = "loss", .label = "validation"};
  if (!has_loss_terms(runs)) return {{.event = "train", .value = "loss", .label = "training"}, validation};
  return {{.event = "train", .value = "nll", .label = "training"},
          validation,
          {.event = "train", .value = "loss", .label = "training, with label smoothing or z-loss"}};
}

// A plot of one number of the lines of training.
Plot plot_of(const char* section, const char* value, const char* title, const char* unit) {
  return {.id = value,
          .section = section,
          .title = title,
          .unit = unit,
          .curves = {{.event = "train", .value = value, .label = title}}};
}

std::vector<Plot> score_plots(const std::vector<Json>& runs) {
  std::vector<std::string> names;
  for (const Json& run : runs) {
    for (const Json& name : run.at("eval").at("scores")) {
      if (std::ranges::find(names, name.get<std::string>()) == names.end()) names.push_back(name.get<std::string>());
    }
  }
  std::vector<Plot> plots;
  for (const std::string& name : names) {
    plots.push_back({.id = "score-" + std::to_string(plots.size()),
                     .section = "Learning",
                     .title = "validation " + name,
                     .unit = "number",
                     .curves = {{.event = "eval", .value = "score:" + name, .label = name}}});
  }
  return plots;
}

}  // namespace

std::vector<Plot> plots_of(const std::vector<Json>& runs) {
  std::vector<Plot> plots = {{.id = "loss",
                              .section = "Learning",
                              .title = "loss (nats per token)",
                              .unit = "number",
                              .curves = loss_curves(runs)}};
  for (Plot& plot : score_plots(runs)) plots.push_back(std::move(plot));
  plots.push_back(plot_of("Optimisation", "lr", "learning rate", "number"));
  plots.push_back(plot_of("Optimisation", "grad_norm", "gradient norm before clipping", "number"));
  plots.push_back(plot_of("Speed", "tokens_per_second", "target tokens per second", "tokens/s"));
  plots.push_back(plot_of("Speed", "step_ms", "milliseconds per step", "milliseconds"));
  plots.push_back(plot_of("Speed", "flops", "FLOP per second", "FLOP/s"));
  plots.push_back(plot_of("Speed", "mfu", "model FLOPs utilisation (MFU)", "share"));
  plots.push_back(plot_of("Speed", "peak_memory", "peak memory of tensors, rank 0", "bytes"));
  plots.push_back(
      plot_of("Waiting", "busy_ms", "computing, ms per step: median and range of the ranks", "milliseconds"));
  plots.push_back(plot_of("Waiting", "data_wait_ms", "waiting for data, ms per step: median and range of the ranks",
                          "milliseconds"));
  plots.push_back(plot_of("Waiting", "comm_wait_ms",
                          "waiting for other ranks, ms per step: median and range of the ranks", "milliseconds"));
  plots.push_back(plot_of("Waiting", "data_ms", "waiting for data, ms per step: slowest rank", "milliseconds"));
  plots.push_back(
      plot_of("Waiting", "comm_exposed_ms", "exposed communication, ms per step: slowest rank", "milliseconds"));
  for (Plot& plot : plots) {
    std::erase_if(plot.curves, [&](const Curve& curve) {
      return std::ranges::none_of(runs, [&](const Json& run) { return has_values(curve, run); });
    });
  }
  std::erase_if(plots, [](const Plot& plot) { return plot.curves.empty(); });
  return plots;
}

Json plots_json(const std::vector<Plot>& plots) {
  Json list = Json::array();
  for (const Plot& plot : plots) {
    Json curves = Json::array();
    for (const Curve& curve : plot.curves) {
      curves.push_back({{"event", curve.event}, {"value", curve.value}, {"label", curve.label}});
    }
    list.push_back({{"id", plot.id},
                    {"section", plot.section},
                    {"title", plot.title},
                    {"unit", plot.unit},
                    {"curves", std::move(curves)}});
  }
  return list;
}

}  // namespace weft
