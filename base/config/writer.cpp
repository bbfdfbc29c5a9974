// SPDX-License-Identifier: Apache-2.0
#include "base/config/writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace weft {
namespace {

using Kind = ConfigValue::Kind;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Plain only if no reader of YAML could take it for anything but this text.
std::string text_as_yaml(const std::string& text) {
  const auto safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-';
  };
  static constexpr std::string_view kBooleansOfYaml11[] = {"y", "n", "yes", "no", "on", "off"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool boolean = std::count(std::begin(kBooleansOfYaml11), std::end(kBooleansOfYaml11), lower) > 0;
  const bool plain = plain_scalar_kind(text) == Kind::Text && text[0] != '-' && !boolean &&
                     std::all_of(text.begin(), text.end(), safe);
  return plain ? text : quoted(text);
}

std::string scalar_as_yaml(const ConfigValue& value) {
  if (value.kind == Kind::Null) return "null";
  return value.kind == Kind::Text ? text_as_yaml(value.text) : value.text;
}

void write_yaml(const ConfigValue& map, size_t indent, std::string& out) {
  for (const ConfigEntry& entry : map.entries) {
    out += std::string(indent, ' ') + text_as_yaml(entry.key) + ":";
    const ConfigValue& value = entry.value;
    if (value.kind == Kind::Map && !value.entries.empty()) {
      out += '\n';
      write_yaml(value, indent + 2, out);
    } else if (value.kind == Kind::List && !value.items.empty() && value.items[0].kind == Kind::Map) {
      out += '\n';
      for (const ConfigValue& item : value.items) {
        out += fmt::format("{}- {}\n", std::string(indent + 2, ' '), value_on_one_line(item));
      }
    } else {
      out += fmt::format(" {}\n", value_on_one_line(value));
    }
  }
}

nlohmann::ordered_json scalar_as_json(const ConfigValue& value) {
  int64_t integer = 0;
  double number = 0;
  switch (value.kind) {
    case Kind::Boolean:
      return value.text[0] == 't' || value.text[0] == 'T';
    case Kind::Integer:
      if (scalar_to_integer(value.text, integer)) return integer;
      return value.text;
    case Kind::Number:
      if (scalar_to_number(value.text, number)) return number;
      return value.text;
    case Kind::Text:
      return value.text;
    case Kind::Null:
      return nullptr;
    case Kind::List:
    case Kind::Map:
      break;
  }
  throw InternalError("a list or a map is no scalar");
}

void collect_leaves(const ConfigValue& value, const std::string& path,
                    std::vector<std::pair<std::string, std::string>>& leaves) {
  if (value.kind != Kind::Map || value.entries.empty()) {
    leaves.emplace_back(path, value_on_one_line(value));
    return;
  }
  for (const ConfigEntry& entry : value.entries) {
    collect_leaves(entry.value, path.empty() ? entry.key : path + "." + entry.key, leaves);
  }
}

std::string table_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

}  // namespace

ConfigValue scalar_value(bool value) { return {.kind = Kind::Boolean, .text = value ? "true" : "false"}; }
ConfigValue scalar_value(int64_t value) { return {.kind = Kind::Integer, .text = std::to_string(value)}; }
ConfigValue scalar_value(const std::string& value) { return {.kind = Kind::Text, .text = value}; }
ConfigValue scalar_value(Duration value) { return {.kind = Kind::Text, .text = duration_text(value)}; }

ConfigValue scalar_of_name(std::string_view name) {
  const Kind kind = plain_scalar_kind(name);
  return {.kind = kind == Kind::Integer || kind == Kind::Boolean ? kind : Kind::Text, .text = std::string(name)};
}

ConfigValue scalar_value(double value) {
  if (std::isnan(value)) return {.kind = Kind::Number, .text = ".nan"};
  if (std::isinf(value)) return {.kind = Kind::Number, .text = value < 0 ? "-.inf" : ".inf"};
  return {.kind = Kind::Number, .text = fmt::format("{}", value)};  // the shortest text that reads back the same
}

std::string value_on_one_line(const ConfigValue& value) {
  std::string out;
  if (value.kind == Kind::List) {
    for (const ConfigValue& item : value.items) out += (out.empty() ? "" : ", ") + value_on_one_line(item);
    return "[" + out + "]";
  }
  if (value.kind == Kind::Map) {
    for (const ConfigEntry& entry : value.entries) {
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", text_as_yaml(entry.key), value_on_one_line(entry.value));
    }
    return "{" + out + "}";
  }
  return scalar_as_yaml(value);
}

std::string tree_to_yaml(const ConfigValue& tree) {
  std::string out;
  write_yaml(tree, 0, out);
  return out;
}

nlohmann::ordered_json tree_to_json(const ConfigValue& tree) {
  if (tree.kind == Kind::List) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ConfigValue& item : tree.items) list.push_back(tree_to_json(item));
    return list;
  }
  if (tree.kind == Kind::Map) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const ConfigEntry& entry : tree.entries) object[entry.key] = tree_to_json(entry.value);
    return object;
  }
  return scalar_as_json(tree);
}

std::vector<ConfigChange> tree_changes(const ConfigValue& before, const ConfigValue& after) {
  std::vector<std::pair<std::string, std::string>> old_leaves;
  std::vector<std::pair<std::string, std::string>> new_leaves;
  collect_leaves(before, "", old_leaves);
  collect_leaves(after, "", new_leaves);
  const auto find = [](const auto& leaves, const std::string& key) {
    const auto at = std::find_if(leaves.begin(), leaves.end(), [&](const auto& leaf) { return leaf.first == key; });
    return at == leaves.end() ? std::string("(absent)") : at->second;
  };
  std::vector<ConfigChange> changes;
  for (const auto& [key, value] : old_leaves) {
    const std::string now = find(new_leaves, key);
    if (now != value) changes.push_back({key, value, now});
  }
  for (const auto& [key, value] : new_leaves) {
    if (find(old_leaves, key) == "(absent)") changes.push_back({key, "(absent)", value});
  }
  return changes;
}

std::string docs_table(const std::vector<ConfigDoc>& docs) {
  std::string out = "| key | default | allowed | meaning |\n|---|---|---|---|\n";
  for (const ConfigDoc& doc : docs) {
    const std::string value = doc.value.empty() ? "" : fmt::format("`{}`", doc.value);
    out += fmt::format("| {}`{}`{} | {} | {} | {} |\n", doc.section ? "**" : "", doc.key, doc.section ? "**" : "",
                       table_cell(value), table_cell(doc.allowed), table_cell(doc.meaning));
  }
  return out;
}

}  // namespace weft
