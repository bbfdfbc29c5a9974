// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft::cuda_device {
namespace {

constexpr std::string_view kPrefix = "WEFT_CUDA_DEVICE_";

// `nor` is the end of the sentence that refuses other texts.
uint64_t number(std::string_view text, const std::string& nor = {}) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::runtime_error("is '" + std::string(text) + "', not a whole number" + nor);
  return value;
}

Contraction contraction(std::string_view text) {
  if (text == "all") return {.all = true};
  return {.draw = number(text, " nor 'all'")};
}

constexpr auto kStages = std::to_array<std::string_view>({"graph", "engines", "plan", "workspace", "execution"});

CudnnRefusals cudnn(std::string_view text) {
  const auto named = std::ranges::find(kStages, text);
  if (named != kStages.end()) return {.stage = static_cast<CudnnStage>(named - kStages.begin() + 1)};
  std::string all;
  for (const std::string_view stage : kStages) all += (all.empty() ? " nor one of " : ", ") + std::string(stage);
  return {.draw = number(text, all)};
}

struct Setting {
  std::string_view name;
  void (*set)(Settings& settings, std::string_view text);
};

// Settings without a function are read where they are used.
constexpr auto kSettings = std::to_array<Setting>({
    {"SEED", [](Settings& s, std::string_view text) { s.seed = number(text); }},
    {"COUNT", [](Settings& s, std::string_view text) { s.devices = static_cast<int>(number(text)); }},
    {"LINKED", [](Settings& s, std::string_view text) { s.linked = std::max(1, static_cast<int>(number(text))); }},
    {"MEMORY", [](Settings& s, std::string_view text) { s.memory = number(text); }},
    {"CAPABILITY", [](Settings& s, std::string_view text) { s.capability = static_cast<int>(number(text)); }},
    {"DRIVER", [](Settings& s, std::string_view text) { s.driver = static_cast<int>(number(text)); }},
    {"CONTRACTION", [](Settings& s, std::string_view text) { s.contraction = contraction(text); }},
    {"CUDNN", [](Settings& s, std::string_view text) { s.cudnn = cudnn(text); }},
    {"REPORTS", nullptr},
    {"COUNTS", [](Settings& s, std::string_view text) { s.counts = text; }},
    {"RESULTS", [](Settings& s, std::string_view text) { s.results = text; }},
    {"ENVREG0", [](Settings& s, std::string_view text) { s.environment = static_cast<uint32_t>(number(text)); }},
    {"PATIENCE", [](Settings& s, std::string_view text) { s.patience = number(text); }},
    {"TIMES", nullptr},
    {"REFUSALS", nullptr},
    {"FAIL_ALLOCATION", [](Settings& s, std::string_view text) { s.fail_allocation = number(text); }},
    {"FAIL_LAUNCH", [](Settings& s, std::string_view text) { s.fail_launch = number(text); }},
    {"FAIL_KERNEL", [](Settings& s, std::string_view text) { s.fail_kernel = number(text); }},
    {"FAIL_COLLECTIVE", [](Settings& s, std::string_view text) { s.fail_collective = number(text); }},
    {"STOP_COLLECTIVE", [](Settings& s, std::string_view text) { s.stop_collective = number(text); }},
    {"KILL_COLLECTIVE", [](Settings& s, std::string_view text) { s.kill_collective = number(text); }},
});

std::string all_names() {
  std::string names;
  for (const Setting& setting : kSettings) names += (names.empty() ? "" : ", ") + std::string(setting.name);
  return names;
}

// Reads one setting; an error names its variable.
template <class Read>
void read(const std::string& name, Read&& take) {
  try {
    take();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(name + " " + error.what());
  }
}

void set(Settings& settings, std::string_view name, std::string_view text) {
  const auto known = std::ranges::find(kSettings, name, &Setting::name);
  const std::string whole = std::string(kPrefix) + std::string(name);
  if (known == kSettings.end()) throw std::runtime_error("there is no setting " + whole + "; there are " + all_names());
  if (known->set) read(whole, [&] { known->set(settings, text); });
}

// As in the real runtime, a number that is not a device ends the list.
void set_visible(Settings& settings, std::string_view text) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const uint64_t device = number(text.substr(0, comma));
    if (device >= static_cast<uint64_t>(settings.devices)) break;
    settings.visible.push_back(static_cast<int>(device));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  settings.devices = static_cast<int>(settings.visible.size());
}

}  // namespace

CudnnStage CudnnRefusals::of_graph(uint64_t number) const {
  if (draw == 0) return stage;
  return static_cast<CudnnStage>(1 + std::mt19937_64(draw + number)() % kStages.size());
}

Settings settings_from_environment() {
  Settings settings;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view variable = *entry;
    if (!variable.starts_with(kPrefix)) continue;
    variable.remove_prefix(kPrefix.size());
    const size_t equals = variable.find('=');
    set(settings, variable.substr(0, equals), variable.substr(equals + 1));
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    read("CUDA_VISIBLE_DEVICES", [&] { set_visible(settings, visible); });
  }
  return settings;
}

}  // namespace weft::cuda_device
