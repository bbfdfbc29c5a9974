// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/config/reader.h"

// Writing a struct with fields(): YAML and JSON that read_config / parse_config read back to the same values bit for
// bit, the reference table of the docs, and what changed between two configurations.
namespace weft {

ConfigValue scalar_value(bool value);
ConfigValue scalar_value(int64_t value);
ConfigValue scalar_value(double value);
ConfigValue scalar_value(const std::string& value);
ConfigValue scalar_value(Duration value);
ConfigValue scalar_of_name(std::string_view name);  // for the name of an enum's value

template <class T>
ConfigValue encode_value(T& value);

struct SectionWriter {
  ConfigValue section{.kind = ConfigValue::Kind::Map};

  template <class T>
  void field(const char* key, T& value, const char*, const FieldProperties& = {}) {
    section.entries.push_back({.key = key, .value = encode_value(value)});
  }
};

template <class T>
ConfigValue encode_value(T& value) {
  if constexpr (Section<T>) {
    SectionWriter writer;
    value.fields(writer);
    return std::move(writer.section);
  } else if constexpr (IsOptional<T>::value) {
    return value ? encode_value(*value) : ConfigValue{};
  } else if constexpr (IsVector<T>::value) {
    ConfigValue list{.kind = ConfigValue::Kind::List};
    for (auto&& item : value) {
      typename T::value_type element = item;  // std::vector<bool> hands out proxies
      list.items.push_back(encode_value(element));
    }
    return list;
  } else if constexpr (NamedEnum<T>) {
    return scalar_of_name(enum_name(value));
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    return scalar_value(static_cast<int64_t>(value));
  } else {
    return scalar_value(value);
  }
}

template <Section T>
ConfigValue encode_config(const T& config) {
  T copy = config;  // fields() is one function for readers and writers, hence not const
  return encode_value(copy);
}

std::string tree_to_yaml(const ConfigValue& tree);
nlohmann::ordered_json tree_to_json(const ConfigValue& tree);

template <Section T>
std::string to_yaml(const T& config) {
  return tree_to_yaml(encode_config(config));
}
// A nlohmann::ordered_json; its user includes <nlohmann/json.hpp>.
template <Section T>
auto to_json(const T& config) {
  return tree_to_json(encode_config(config));
}

struct ConfigChange {
  std::string key;     // dotted
  std::string before;  // as YAML on one line; "(absent)" if the key is not there
  std::string after;
};
// Every leaf that differs; a list is one leaf.
std::vector<ConfigChange> tree_changes(const ConfigValue& before, const ConfigValue& after);
template <Section T>
std::vector<ConfigChange> config_changes(const T& before, const T& after) {
  return tree_changes(encode_config(before), encode_config(after));
}

// A value as YAML on one line: [1, 2], {a: 1}, "text with spaces".
std::string value_on_one_line(const ConfigValue& value);

struct DocCollector {
  std::vector<ConfigDoc>& docs;
  std::string prefix;
  Affects affects = Affects::Training;  // fields that do not say

  template <class T>
  void field(const char* key, T& value, const char* meaning, const FieldProperties& properties = {}) {
    const std::string name = prefix + key;
    const Affects stated = properties.affects.value_or(affects);
    if constexpr (Section<T>) {
      docs.push_back({name, "a section", "", meaning, true, stated});
      DocCollector inner{docs, name + ".", stated};
      value.fields(inner);
    } else {
      const std::string text = value_on_one_line(encode_value(value));
      docs.push_back({name, describe_type<T>(properties.range), text, meaning, false, stated});
      if constexpr (IsVector<T>::value || IsOptional<T>::value)
        elements<typename T::value_type>(name + (IsVector<T>::value ? "[]." : "."), stated);
    }
  }

 private:
  template <class T>
  void elements(const std::string& inside, Affects stated) {
    if constexpr (Section<T>) {
      T defaults{};
      DocCollector inner{docs, inside, stated};
      defaults.fields(inner);
    }
  }
};

// Every field with its meaning and the value that it has in `defaults`.
template <Section T>
std::vector<ConfigDoc> config_docs(T defaults = {}) {
  std::vector<ConfigDoc> docs;
  DocCollector collector{docs, ""};
  defaults.fields(collector);
  return docs;
}

// A Markdown table: key, default, allowed values, meaning.
std::string docs_table(const std::vector<ConfigDoc>& docs);

}  // namespace weft
