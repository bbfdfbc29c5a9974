#include "tests/cuda_device/runtime/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft::cuda_device {
namespace {

constexpr std::string_view kPrefix = "WEFT_CUDA_DEVICE_";

uint64_t number(std::string_view name, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::runtime_error(std::string(name) + " is '" + std::string(text) + "', and a whole number is needed");
  return value;
}

void set(Settings& settings, std::string_view name, std::string_view text) {
  const uint64_t value = number(name, text);
  name.remove_prefix(kPrefix.size());
  if (name == "SEED")
    settings.seed = value;
  else if (name == "COUNT")
    settings.devices = static_cast<int>(value);
  else if (name == "MEMORY")
    settings.memory = value;
  else if (name == "CAPABILITY")
    settings.capability = static_cast<int>(value);
  else if (name == "PATIENCE")
    settings.patience = value;
  else if (name == "FAIL_ALLOCATION")
    settings.fail_allocation = value;
  else if (name == "FAIL_LAUNCH")
    settings.fail_launch = value;
  else if (name == "FAIL_KERNEL")
    settings.fail_kernel = value;
  else
    throw std::runtime_error(
        "there is no setting " + std::string(kPrefix) + std::string(name) +
        "; there are SEED, COUNT, MEMORY, CAPABILITY, REPORTS, PATIENCE, FAIL_ALLOCATION, FAIL_LAUNCH and FAIL_KERNEL");
}

// What follows a number that is no device is not looked at.
void set_visible(Settings& settings, std::string_view text) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const uint64_t device = number("CUDA_VISIBLE_DEVICES", text.substr(0, comma));
    if (device >= static_cast<uint64_t>(settings.devices)) break;
    settings.visible.push_back(static_cast<int>(device));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  settings.devices = static_cast<int>(settings.visible.size());
}

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  // WEFT_CUDA_DEVICE_REPORTS is read by Reports.
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with(kPrefix) || variable.starts_with("WEFT_CUDA_DEVICE_REPORTS=")) continue;
    const size_t equals = variable.find('=');
    set(settings, variable.substr(0, equals), variable.substr(equals + 1));
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) set_visible(settings, visible);
  return settings;
}

}  // namespace weft::cuda_device
