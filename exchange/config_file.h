// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "kernels/ops/activation.h"

namespace weft {

// A config.json of `transformers`, of any origin. A field that is absent, or null, has the default of its family.
// Every error is a DataError that names the file and the field.
class ConfigFile {
 public:
  explicit ConfigFile(const fs::path& path);

  // Null if the field is absent.
  const nlohmann::json& at(const char* name) const;
  bool has(const char* name) const { return !at(name).is_null(); }
  bool states(const char* name) const { return json_.contains(name); }  // null or not
  int64_t size(const char* name, int64_t absent) const;
  double number(const char* name, double absent) const;
  bool flag(const char* name, bool absent) const;
  std::string text(const char* name, const std::string& absent) const;
  // The fields of an object as a file of their own; without any if it is absent.
  ConfigFile section(const char* name) const;

  // The activation that a field names, `absent` if there is none.
  Activation activation(const char* name, Activation absent) const;
  // Refuses a flag that has another value than the one that weft can have, for the reason `what`.
  void only(const char* name, bool absent, bool possible, const std::string& what) const;
  [[noreturn]] void refuse(const char* name, const std::string& what) const;

 private:
  ConfigFile(std::string where, nlohmann::json json);

  std::string where_;
  nlohmann::json json_, null_;
};

// The name of an activation there; nullopt if it has none.
std::optional<std::string_view> activation_name(Activation activation);

}  // namespace weft
