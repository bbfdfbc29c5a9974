// SPDX-License-Identifier: Apache-2.0
#include "pages/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWidth = 720, kHeight = 260, kLeft = 64, kRight = 30, kTop = 10, kBottom = 28;
constexpr size_t kColours = 8;

// The range of numbers that an axis shows.
struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(const Json& list) {
    for (const Json& value : list) {
      if (value.is_number()) low = std::min(low, value.get<double>()), high = std::max(high, value.get<double>());
    }
  }
  // With a margin, and never empty.
  Span widened(double share) const {
    if (!(low <= high)) return {.low = 0, .high = 1};
    const double width = high > low ? high - low : std::max(std::abs(low) * 0.1, 1e-12);
    return {.low = low - share * width, .high = (high > low ? high : low + width) + share * width};
  }
};

// Places of numbers in the picture.
struct Axes {
  Span x, y;
  double at_x(double value) const { return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight); }
  double at_y(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

// "M x y L x y ...", a new piece after each gap.
std::string line_path(const Axes& axes, const Json& steps, const Json& values) {
  std::string path;
  bool drawing = false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_number()) {
      path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", axes.at_x(steps[i].get<double>()),
                          axes.at_y(values[i].get<double>()));
    }
    drawing = values[i].is_number();
  }
  return path;
}

// Upright strokes from the least to the greatest value of each bin.
std::string band_path(const Axes& axes, const Json& steps, const Json& low, const Json& high) {
  std::string path;
  for (size_t i = 0; i < low.size(); ++i) {
    if (!low[i].is_number() || !high[i].is_number()) continue;
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}", axes.at_x(steps[i].get<double>()), axes.at_y(low[i].get<double>()),
                        axes.at_y(high[i].get<double>()));
  }
  return path;
}

std::string grid(const Axes& axes) {
  std::string svg;
  for (const double tick : round_ticks(axes.y.low, axes.y.high, 5)) {
    const double y = axes.at_y(tick);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.6g}</text>\n",
        kLeft, y, kWidth - kRight, kLeft - 6, y + 4, tick);
  }
  for (const double tick : round_ticks(axes.x.low, axes.x.high, 8)) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.10g}</text>\n", axes.at_x(tick),
                       kHeight - 8, tick);
  }
  return svg;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int most) {
  std::vector<double> ticks;
  if (!(high > low) || !std::isfinite(high - low)) return ticks;
  const double rough = (high - low) / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double times = rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10;
  const double distance = times * power;
  for (double k = std::ceil(low / distance); k * distance <= high && ticks.size() < 50; ++k)
    ticks.push_back(k * distance + 0.0);
  return ticks;
}

std::string picture(const Plot& plot, const std::vector<Json>& runs) {
  Span x, y;
  const auto for_each_curve = [&](const auto& call) {
    for (size_t run = 0; run < runs.size(); ++run) {
      for (size_t k = 0; k < plot.curves.size(); ++k) {
        const Json& table = runs[run].at(plot.curves[k].event);
        const auto values = table.at("values").find(plot.curves[k].value);
        if (values == table.at("values").end()) continue;
        call(table.at("step"), *values, (runs.size() == 1 ? k : run) % kColours, plot.curves[k].event == "eval");
      }
    }
  };
  for_each_curve([&](const Json& steps, const Json& values, size_t, bool) {
    x.take(steps);
    for (const auto& [name, list] : values.items()) y.take(list);
  });
  const Axes axes{.x = x.widened(0), .y = y.widened(0.04)};
  std::string svg = fmt::format("<svg id=\"picture-{}\" viewBox=\"0 0 {} {}\" role=\"img\">\n{}", plot.id, kWidth,
                                kHeight, grid(axes));
  for_each_curve([&](const Json& steps, const Json& values, size_t colour, bool is_rare) {
    if (values.contains("low")) {
      svg += fmt::format("<path class=\"band c{}\" d=\"{}\"/>\n", colour,
                         band_path(axes, steps, values.at("low"), values.at("high")));
    }
    svg += fmt::format("<path class=\"line c{}{}\" d=\"{}\"/>\n", colour, is_rare ? " rare" : "",
                       line_path(axes, steps, values.at("mean")));
  });
  return svg + "</svg>\n";
}

}  // namespace weft
