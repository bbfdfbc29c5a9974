// SPDX-License-Identifier: Apache-2.0
#include "exchange/config_file.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

constexpr int kMaxDepth = 16;

struct ActivationName {
  std::string_view theirs;
  Activation ours;
};
// The first name of each activation is the one that is written. All tanh forms are the same function.
constexpr std::array kActivations = {
    ActivationName{"gelu_new", Activation::GeluTanh},  ActivationName{"gelu_pytorch_tanh", Activation::GeluTanh},
    ActivationName{"gelu_fast", Activation::GeluTanh}, ActivationName{"gelu", Activation::Gelu},
    ActivationName{"relu", Activation::Relu},          ActivationName{"silu", Activation::Silu},
    ActivationName{"swish", Activation::Silu}};

}  // namespace

ConfigFile::ConfigFile(const fs::path& path)
    : ConfigFile(path.string(), parse_json(read_file(path), path.string(), kMaxDepth)) {}

ConfigFile::ConfigFile(std::string where, nlohmann::json json) : where_(std::move(where)), json_(std::move(json)) {
  require<DataError>(json_.is_object(), "{}: expected an object", where_);
}

const nlohmann::json& ConfigFile::at(const char* name) const {
  const auto found = json_.find(name);
  return found == json_.end() ? null_ : *found;
}

int64_t ConfigFile::size(const char* name, int64_t absent) const {
  const nlohmann::json& value = at(name);
  if (value.is_null()) return absent;
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{1} << 32;
  require<DataError>(fits, "{}: {}: expected a size, got {}", where_, name, json_excerpt(value));
  return value.get<int64_t>();
}

double ConfigFile::number(const char* name, double absent) const {
  const nlohmann::json& value = at(name);
  if (value.is_null()) return absent;
  require<DataError>(value.is_number(), "{}: {}: expected a number, got {}", where_, name, json_excerpt(value));
  return value.get<double>();
}

bool ConfigFile::flag(const char* name, bool absent) const {
  const nlohmann::json& value = at(name);
  if (value.is_null()) return absent;
  require<DataError>(value.is_boolean(), "{}: {}: expected true or false, got {}", where_, name, json_excerpt(value));
  return value.get<bool>();
}

std::string ConfigFile::text(const char* name, const std::string& absent) const {
  const nlohmann::json& value = at(name);
  if (value.is_null()) return absent;
  require<DataError>(value.is_string(), "{}: {}: expected a text, got {}", where_, name, json_excerpt(value));
  return value.get<std::string>();
}

ConfigFile ConfigFile::section(const char* name) const {
  const nlohmann::json& value = at(name);
  return {fmt::format("{}: {}", where_, name), value.is_null() ? nlohmann::json::object() : value};
}

Activation ConfigFile::activation(const char* name, Activation absent) const {
  const nlohmann::json& value = at(name);
  if (value.is_null()) return absent;
  for (const auto& [theirs, ours] : kActivations) {
    if (value == theirs) return ours;
  }
  std::string known;
  for (const auto& [theirs, ours] : kActivations) known += fmt::format("{}{}", known.empty() ? "" : ", ", theirs);
  refuse(name, "weft has " + known);
}

void ConfigFile::only(const char* name, bool absent, bool possible, const std::string& what) const {
  if (flag(name, absent) != possible) refuse(name, what);
}

void ConfigFile::refuse(const char* name, const std::string& what) const {
  throw DataError(fmt::format("{}: {}: {} cannot be represented: {}", where_, name, json_excerpt(at(name)), what));
}

std::optional<std::string_view> activation_name(Activation activation) {
  const auto at = std::ranges::find(kActivations, activation, &ActivationName::ours);
  return at == kActivations.end() ? std::nullopt : std::optional(at->theirs);
}

}  // namespace weft
