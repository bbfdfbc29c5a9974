// SPDX-License-Identifier: Apache-2.0
#include "base/config/renamed_keys.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft {
namespace {

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

// The section that holds `key`; null if it is absent.
ConfigValue* section_of(ConfigValue& root, std::string_view key) {
  ConfigValue* section = &root;
  for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    ConfigEntry* entry = section->find(key.substr(0, dot));
    if (!entry) return nullptr;
    section = &entry->value;
    key.remove_prefix(dot + 1);
  }
  return section;
}

// The value under the new name; nothing if it is unchanged.
std::optional<std::string> renamed_value(const RenamedKey& key, const ConfigValue& value) {
  const auto at = std::ranges::find(key.values, std::string_view(value.text), &RenamedKey::ValuePair::first);
  return at == key.values.end() ? std::nullopt : std::optional<std::string>(at->second);
}

void rename_entry(const RenamedKey& key, ConfigEntry& entry) {
  if (auto text = renamed_value(key, entry.value)) {
    entry.value.kind = plain_scalar_kind(*text);
    entry.value.text = std::move(*text);
  }
  entry.key = last_part(key.now);
}

// Calls found(key, section, entry) for every old key in `root`.
template <class Found>
void for_renamed(RenamedKeys keys, ConfigValue& root, Found&& found) {
  for (const RenamedKey& key : keys) {
    ConfigValue* section = section_of(root, key.before);
    ConfigEntry* entry = section ? section->find(last_part(key.before)) : nullptr;
    if (entry) found(key, *section, *entry);
  }
}

}  // namespace

std::optional<std::string> renamed_key(RenamedKeys keys, std::string_view key) {
  for (const RenamedKey& renamed : keys) {
    if (!key.starts_with(renamed.before)) continue;
    const std::string_view rest = key.substr(renamed.before.size());
    if (rest.empty() || rest[0] == '.') return std::string(renamed.now) + std::string(rest);
  }
  return std::nullopt;
}

void rename_keys(RenamedKeys keys, ConfigValue& root) {
  for_renamed(keys, root, [](const RenamedKey& key, ConfigValue&, ConfigEntry& entry) { rename_entry(key, entry); });
}

void refuse_renamed_keys(RenamedKeys keys, ConfigValue& root, ConfigProblems& problems) {
  for_renamed(keys, root, [&](const RenamedKey& key, ConfigValue& section, ConfigEntry& entry) {
    const auto value = renamed_value(key, entry.value);
    problems.push_back({entry.location, fmt::format("{} was renamed: write {}{}", key.before, key.now,
                                                    value ? fmt::format(": {}", *value) : "")});
    if (section.find(last_part(key.now))) {  // both names were present: only the new one is read from here on
      section.entries.erase(section.entries.begin() + (&entry - section.entries.data()));
    } else {
      rename_entry(key, entry);
    }
  });
}

}  // namespace weft
