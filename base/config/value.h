// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/fields.h"

// The tree between YAML text and configuration structs: values as text with their locations, not yet converted.
namespace weft {

// Where a key or a value was written: "job.yaml:3:5", or "--set a.b=c" (line 0).
struct ConfigLocation {
  std::shared_ptr<const std::string> source;
  int line = 0;    // from 1; 0 if the source is one line (an override)
  int column = 0;  // from 1
  std::string text() const;
};

struct ConfigEntry;

struct ConfigValue {
  enum class Kind { Null, Boolean, Integer, Number, Text, List, Map };
  Kind kind = Kind::Null;
  std::string text;                  // a scalar as it was written
  std::vector<ConfigValue> items;    // the elements of a List
  std::vector<ConfigEntry> entries;  // the entries of a Map in the order written, keys unique
  ConfigLocation location;

  const ConfigEntry* find(std::string_view key) const;
  ConfigEntry* find(std::string_view key);
};

struct ConfigEntry {
  std::string key;
  ConfigLocation location;  // where the key stands
  ConfigValue value;
};

// The text of a scalar, booleans written as true and false.
std::string name_of_scalar(const ConfigValue& value);

// The kind of a plain (unquoted) YAML scalar by the core schema of YAML 1.2: `yes` is text, `1e-3` a number, `3` an
// integer, `3.0` a number, `0x1f` an integer, the empty scalar and `~` null.
ConfigValue::Kind plain_scalar_kind(std::string_view text);

// The value of an Integer scalar; false if it does not fit 64 bits.
bool scalar_to_integer(std::string_view text, int64_t& value);
// The value of an Integer or Number scalar; false if it is not finite.
bool scalar_to_number(std::string_view text, double& value);

// Whole numbers of d, h, m and s, each unit once and the largest first ("1h", "3h45m"), from 1 s to 10 years; nullopt
// for any other text.
std::optional<Duration> text_to_duration(std::string_view text);
// The text that text_to_duration() reads back as `duration`: "3h45m".
std::string duration_text(Duration duration);

// For messages: "3.0 (a number)", "'yes' (text)", "a list of 3", "a section (a, b)", "nothing".
std::string describe_value(const ConfigValue& value);

struct ConfigProblem {
  ConfigLocation where;
  std::string what;  // "model.width: expected an integer, got 'wide' (text)"
};
using ConfigProblems = std::vector<ConfigProblem>;

// Throws a ConfigError that lists all of them, one per line, in the order of the files; does nothing without problems.
void throw_problems(ConfigProblems problems);

// File: locations are line and column. OneLine: an override, which is its own location.
enum class Layout { File, OneLine };

// One YAML document as a tree of what could be read; an empty text is Null. Problems are appended: syntax errors,
// duplicate keys, tags, keys that are not scalars, aliases inside their own anchors, a second document, bytes and
// escapes that are not UTF-8 text, and sizes beyond any configuration (1 MiB of text, 20,000 values with aliases
// written out, 64 levels).
ConfigValue parse_yaml(std::string_view yaml, const std::string& source_name, Layout layout, ConfigProblems& problems);

// The same for a file with what it extends (see docs/configuration.md), overridden by "a.b=value" texts.
ConfigValue load_config_tree(const std::string& path, const std::vector<std::string>& overrides,
                             ConfigProblems& problems);
// `option` is the command-line option that gave the override, for messages.
void apply_override(ConfigValue& root, const std::string& override_text, ConfigProblems& problems,
                    const std::string& option = "--set");

// The candidate with the fewest edits from `name`, or "" if none is similar.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft
