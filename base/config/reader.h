// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/config/fields.h"
#include "base/config/value.h"

// Reading a struct with fields() from YAML, and the description of such a struct for messages and docs.
//
//   const JobConfig job = read_config<JobConfig>("job.yaml", {"model.width=256"});
//
// Keys that are absent keep the default of the struct. Everything else that does not fit is a ConfigError which lists
// all problems at once, a line each:
//   job.yaml:3:10: model.width: expected an integer >= 1, got 'wide' (text)
//   job.yaml:4:3: model.heds: unknown key; did you mean 'heads'? (known: layers, width, heads)
// Nothing is converted silently: an integer field takes 3 and not 3.0 or 1e3, a bool takes true and false and not yes,
// text that looks like a number must be quoted, and null is for optional fields alone.
namespace weft {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// "an integer from 1 to 8", "text", "one of pre, post", "a list, each a number > ..."; "a section" for a struct.
std::string describe_range(const char* noun, const Range& range, bool integer);
template <class T>
std::string describe_type(const Range& range) {
  if constexpr (std::same_as<T, bool>) {
    return "true or false";
  } else if constexpr (std::integral<T>) {
    return describe_range("an integer", range, true);
  } else if constexpr (std::floating_point<T>) {
    return describe_range("a number", range, false);
  } else if constexpr (std::same_as<T, std::string>) {
    return "text";
  } else if constexpr (std::same_as<T, Duration>) {
    return "a duration such as 3h45m or 90s";
  } else if constexpr (NamedEnum<T>) {
    std::string names;
    for (const auto& [name, value] : EnumNames<T>::kNames) names += (names.empty() ? "" : ", ") + std::string(name);
    return "one of " + names;
  } else if constexpr (IsOptional<T>::value) {
    return describe_type<typename T::value_type>(range) + ", or null";
  } else if constexpr (IsVector<T>::value) {
    return "a list, each " + describe_type<typename T::value_type>(range);
  } else {
    static_assert(Section<T>, "a configuration field must have one of the types that base/config/fields.h lists");
    return "a section";
  }
}

// One row of the reference: every field, sections before their fields, lists of sections as "key[].field".
struct ConfigDoc {
  std::string key;      // dotted
  std::string allowed;  // describe_type
  std::string value;    // the default, as YAML; empty for a section
  std::string meaning;
  bool section = false;
  Affects affects = Affects::Training;
};

// The state that the templates below share: the problems found so far, and the keys that no field declares.
class ConfigReader {
 public:
  explicit ConfigReader(ConfigProblems problems = {}) : problems_(std::move(problems)) {}

  // Throws a ConfigError if there are problems. `all_keys` are the dotted keys of the whole struct: for a key in the
  // wrong section the error names the right one.
  void finish(const std::vector<std::string>& all_keys);

  void wrong_type(const ConfigValue& value, const std::string& path, const std::string& expected);
  void wrong_choice(const ConfigValue& value, const std::string& path, const std::vector<std::string>& choices);
  void check_keys(const ConfigValue& section, const std::string& path, const std::vector<std::string>& known);

  void read(const ConfigValue& value, const std::string& path, const Range& range, bool& into);
  void read(const ConfigValue& value, const std::string& path, const Range& range, double& into);
  void read(const ConfigValue& value, const std::string& path, const Range& range, std::string& into);
  void read(const ConfigValue& value, const std::string& path, const Range& range, Duration& into);
  // An integer within [low, high], the bounds of its type, and `range`.
  bool read_integer(const ConfigValue& value, const std::string& path, const Range& range, int64_t low, int64_t high,
                    int64_t& into);

  template <std::integral T>
  requires(!std::same_as<T, bool>) void read(const ConfigValue& value, const std::string& path, const Range& range,
                                             T& into) {
    static_assert(std::is_signed_v<T>, "declare integers as int64_t");
    int64_t wide = 0;
    if (read_integer(value, path, range, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), wide)) {
      into = static_cast<T>(wide);
    }
  }

  template <NamedEnum E>
  void read(const ConfigValue& value, const std::string& path, const Range&, E& into) {
    std::vector<std::string> choices;
    const std::string text = name_of_scalar(value);
    for (const auto& [name, choice] : EnumNames<E>::kNames) {
      if (text == name) {
        into = choice;
        return;
      }
      choices.emplace_back(name);
    }
    wrong_choice(value, path, choices);
  }

  template <class T>
  void read(const ConfigValue& value, const std::string& path, const Range& range, std::optional<T>& into) {
    if (value.kind == ConfigValue::Kind::Null) {
      into.reset();
      return;
    }
    T inner{};
    read(value, path, range, inner);
    into = std::move(inner);
  }

  template <class T>
  void read(const ConfigValue& value, const std::string& path, const Range& range, std::vector<T>& into) {
    if (value.kind != ConfigValue::Kind::List) {
      wrong_type(value, path, describe_type<std::vector<T>>(range));
      return;
    }
    into.clear();
    for (const ConfigValue& item : value.items) {
      T element{};
      read(item, path + "." + std::to_string(into.size()), range, element);
      into.push_back(std::move(element));
    }
  }

  template <Section T>
  void read(const ConfigValue& value, const std::string& path, const Range&, T& into);

 private:
  struct Unknown {
    ConfigLocation where;
    std::string path;  // of the section, "" or "a.b"
    std::string key;
    std::vector<std::string> known;
  };
  ConfigProblems problems_;
  std::vector<Unknown> unknown_;
};

struct SectionReader {
  ConfigReader& reader;
  const ConfigValue& section;
  const std::string& path;
  std::vector<std::string> known = {};

  template <class T>
  void field(const char* key, T& value, const char*, const FieldProperties& properties = {}) {
    known.emplace_back(key);
    if (const ConfigEntry* entry = section.find(key)) {
      reader.read(entry->value, path.empty() ? key : path + "." + key, properties.range, value);
    }
  }
};

template <Section T>
void ConfigReader::read(const ConfigValue& value, const std::string& path, const Range&, T& into) {
  if (value.kind != ConfigValue::Kind::Map) {
    wrong_type(value, path, "a section (keys with values)");
    return;
  }
  SectionReader fields{*this, value, path};
  into.fields(fields);
  check_keys(value, path, fields.known);
}

// The keys of a struct, dotted, in the order of their declaration.
struct KeyCollector {
  std::vector<std::string>& keys;
  std::string prefix;

  template <class T>
  void field(const char* key, T& value, const char*, const FieldProperties& = {}) {
    keys.push_back(prefix + key);
    if constexpr (Section<T>) {
      KeyCollector inner{keys, prefix + key + "."};
      value.fields(inner);
    }
  }
};

template <Section T>
std::vector<std::string> config_keys() {
  std::vector<std::string> keys;
  T defaults{};
  KeyCollector collector{keys, ""};
  defaults.fields(collector);
  return keys;
}

template <Section T>
T decode_config(const ConfigValue& tree, ConfigProblems problems, T config = {}) {
  ConfigReader reader(std::move(problems));
  if (tree.kind != ConfigValue::Kind::Null) reader.read(tree, "", {}, config);
  reader.finish(config_keys<T>());
  return config;
}

// A job file, what it extends, then the overrides ("a.b=value") in order. ConfigError with every problem.
template <Section T>
T read_config(const std::string& path, const std::vector<std::string>& overrides = {}) {
  ConfigProblems problems;
  const ConfigValue tree = load_config_tree(path, overrides, problems);
  return decode_config<T>(tree, std::move(problems));
}

// The same from text, YAML or JSON, that stands alone (no extends): what a checkpoint or a dataset stores.
template <Section T>
T parse_config(std::string_view text, const std::string& source_name, const std::vector<std::string>& overrides = {}) {
  ConfigProblems problems;
  ConfigValue tree = parse_yaml(text, source_name, Layout::File, problems);
  for (const std::string& override_text : overrides) apply_override(tree, override_text, problems);
  return decode_config<T>(tree, std::move(problems));
}

// `defaults` changed by command-line options: each of `values` is the "key=value" of one `option`.
template <Section T>
T read_options(const std::string& option, const std::vector<std::string>& values, T defaults = {}) {
  ConfigProblems problems;
  ConfigValue tree;
  for (const std::string& value : values) apply_override(tree, value, problems, option);
  return decode_config<T>(tree, std::move(problems), std::move(defaults));
}

}  // namespace weft
