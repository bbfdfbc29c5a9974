// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/config/value.h"
#include "base/error.h"
#include "base/files.h"

namespace weft {
namespace {

using Kind = ConfigValue::Kind;

constexpr size_t kMaxFiles = 64;
constexpr uint64_t kMaxFileBytes = uint64_t{16} << 20;  // of one file, which is written by hand
constexpr size_t kMaxPathParts = 32;

// Sections are merged key by key; anything else is replaced.
void merge(ConfigValue& base, const ConfigValue& later) {
  if (base.kind != Kind::Map || later.kind != Kind::Map) {
    base = later;
    return;
  }
  for (const ConfigEntry& entry : later.entries) {
    if (ConfigEntry* known = base.find(entry.key)) {
      known->location = entry.location;
      merge(known->value, entry.value);
    } else {
      base.entries.push_back(entry);
    }
  }
}

// Reads a file and the files that it extends; each file is read once, so that many that extend one another stay cheap.
class Loader {
 public:
  explicit Loader(ConfigProblems& problems) : problems_(problems) {}

  ConfigValue load(const std::string& path, const ConfigLocation& from) {
    std::error_code ignored;  // a path that cannot be resolved is reported when it is opened
    const fs::path real = fs::weakly_canonical(path, ignored);
    if (std::find(chain_.begin(), chain_.end(), real) != chain_.end()) {
      problems_.push_back({from, fmt::format("extends: {} extends itself: {}", path, chain_text(real))});
      return {.kind = Kind::Map, .location = from};
    }
    if (const auto known = loaded_.find(real); known != loaded_.end()) return known->second;
    if (loaded_.size() + chain_.size() >= kMaxFiles) {
      problems_.push_back({from, fmt::format("extends: more than {} files", kMaxFiles)});
      return {.kind = Kind::Map, .location = from};
    }
    chain_.push_back(real);
    ConfigValue value = read(path, from);
    chain_.pop_back();
    loaded_[real] = value;
    return value;
  }

 private:
  ConfigValue read(const std::string& path, const ConfigLocation& from) {
    ConfigValue empty{.kind = Kind::Map, .location = {std::make_shared<const std::string>(path), 0, 0}};
    std::string text;
    try {
      text = read_file(path, kMaxFileBytes);
    } catch (const DataError& error) {
      const bool extended = from.source != nullptr;
      problems_.push_back({extended ? from : empty.location, fmt::format("cannot be read: {}", error.what())});
      return empty;
    }
    ConfigValue value = parse_yaml(text, path, Layout::File, problems_);
    if (value.kind == Kind::Null) return empty;
    if (value.kind != Kind::Map) {
      problems_.push_back({value.location, fmt::format("expected keys with values, got {}", describe_value(value))});
      return empty;
    }
    return with_bases(std::move(value), path);
  }

  ConfigValue with_bases(ConfigValue value, const std::string& path) {
    const auto at = std::find_if(value.entries.begin(), value.entries.end(),
                                 [](const ConfigEntry& entry) { return entry.key == "extends"; });
    if (at == value.entries.end()) return value;
    const ConfigValue bases = std::move(at->value);
    value.entries.erase(at);
    ConfigValue result{.kind = Kind::Map, .location = value.location};
    const auto extend = [&](const ConfigValue& base) {
      if (base.kind != Kind::Text) {
        problems_.push_back(
            {base.location,
             fmt::format("extends: expected the path of a file or a list of them, got {}", describe_value(base))});
        return;
      }
      merge(result, load((fs::path(path).parent_path() / base.text).lexically_normal().string(), base.location));
    };
    if (bases.kind == Kind::List) {
      std::for_each(bases.items.begin(), bases.items.end(), extend);
    } else {
      extend(bases);
    }
    merge(result, value);
    return result;
  }

  std::string chain_text(const fs::path& last) const {
    std::string text;
    for (const fs::path& file : chain_) text += file.filename().string() + " -> ";
    return text + last.filename().string();
  }

  ConfigProblems& problems_;
  std::vector<fs::path> chain_;
  std::map<fs::path, ConfigValue> loaded_;
};

std::optional<std::vector<std::string>> split_key(std::string_view dotted) {
  std::vector<std::string> parts;
  while (true) {
    const size_t dot = dotted.find('.');
    const std::string_view part = dotted.substr(0, dot);
    if (part.empty() || parts.size() >= kMaxPathParts) return std::nullopt;
    parts.emplace_back(part);
    if (dot == std::string_view::npos) return parts;
    dotted.remove_prefix(dot + 1);
  }
}

}  // namespace

ConfigValue load_config_tree(const std::string& path, const std::vector<std::string>& overrides,
                             ConfigProblems& problems) {
  ConfigValue root = Loader(problems).load(path, {});
  for (const std::string& text : overrides) apply_override(root, text, problems);
  return root;
}

void apply_override(ConfigValue& root, const std::string& override_text, ConfigProblems& problems,
                    const std::string& option) {
  const std::string name = option + " " + override_text.substr(0, 120);
  const ConfigLocation here{std::make_shared<const std::string>(name), 0, 0};
  const size_t equals = override_text.find('=');
  const auto parts = split_key(std::string_view(override_text).substr(0, equals));
  if (equals == std::string::npos || !parts) {
    problems.push_back({here, "expected key=value, the key dotted where it lies in a section"});
    return;
  }
  const size_t problems_before = problems.size();
  const ConfigValue value =
      parse_yaml(std::string_view(override_text).substr(equals + 1), name, Layout::OneLine, problems);
  if (problems.size() > problems_before) return;
  ConfigValue nested = value;
  nested.location = here;
  for (auto part = parts->rbegin(); part != parts->rend(); ++part) {
    ConfigValue section{.kind = Kind::Map, .location = here};
    section.entries.push_back({*part, here, std::move(nested)});
    nested = std::move(section);
  }
  merge(root, nested);
}

}  // namespace weft
