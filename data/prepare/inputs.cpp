// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <regex>
#include <type_traits>

#include "base/config/reader.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/dataset/shard.h"

namespace weft {

namespace {

// Writes every field of a section as text, under its dotted name.
class SettingsWriter {
 public:
  SettingsWriter(std::string prefix, std::map<std::string, std::string>& into)
      : prefix_(std::move(prefix)), into_(into) {}

  template <class T>
  void field(const char* name, T& value, const char*, const FieldProperties& = {}) {
    const std::string key = prefix_ + "." + name;
    if constexpr (Section<T>) {
      SettingsWriter inner(key, into_);
      value.fields(inner);
    } else if constexpr (is_list_of_sections<T>()) {
      for (size_t i = 0; i < value.size(); ++i) {
        SettingsWriter inner(fmt::format("{}[{}]", key, i), into_);
        value[i].fields(inner);
      }
    } else {
      into_[key] = text(value);
    }
  }

 private:
  template <class T>
  static constexpr bool is_list_of_sections() {
    if constexpr (IsVector<T>::value) return Section<typename T::value_type>;
    return false;
  }
  static std::string text(const std::string& value) { return value; }
  template <class T>
  static std::string text(const std::vector<T>& values) {
    std::string joined;
    for (const T& value : values) joined.append(text(value)).append("\n");
    return joined;
  }
  template <class T>
  static std::string text(const T& value) {
    if constexpr (NamedEnum<T>) {
      return std::string(enum_name(value));
    } else {
      return fmt::format("{}", value);
    }
  }

  std::string prefix_;
  std::map<std::string, std::string>& into_;
};

template <class T>
void write_settings(const char* prefix, T section, std::map<std::string, std::string>& into) {
  SettingsWriter writer(prefix, into);
  section.fields(writer);
}

// The section with the default pattern filled in: datasets made before that default had a name do not store it.
TokenizerConfig as_meant(TokenizerConfig config) {
  if (config.kind != TokenizerKind::Tiktoken) config.pattern = config.learnt_pattern();
  return config;
}

uint64_t hash_file(const TextFile& file) { return file_checksum(File(file.place(), File::Mode::Read)); }

// True for keys that bound what is accepted but change no output, and for keys of files whose content is compared.
bool changes_nothing(const std::string& key, bool inputs_are_compared) {
  if (key == "data.max_unknown_fraction" || key == "data.max_bad_fraction" || key == "data.max_record_bytes") {
    return true;
  }
  if (!inputs_are_compared) return false;
  static const std::regex kFiles(R"(data\.(train|valid|test)\.(files|source|target)|data\.(target_)?tokenizer_file|)"
                                 R"((target_)?tokenizer\.(vocab|merges|ranks|model)_file)");
  return std::regex_match(key, kFiles);
}

// The value as a message shows it; a list stands in brackets.
std::string shown(std::string value) {
  if (!value.ends_with('\n')) return value;
  value.pop_back();
  for (size_t at = 0; (at = value.find('\n', at)) != std::string::npos;) value.replace(at, 1, ", ");
  return "[" + value + "]";
}

std::string settings_difference(const Manifest& manifest, const std::map<std::string, std::string>& settings,
                                bool inputs_are_compared) {
  std::map<std::string, std::string> values;
  write_settings("data", DataConfig{}, values);
  write_settings("tokenizer", as_meant({}), values);
  write_settings("target_tokenizer", as_meant({}), values);
  const std::map<std::string, std::string> defaults = values;
  for (const auto& [name, value] : manifest.settings) {
    values[renamed_key(kRenamedDataKeys, name).value_or(name)] = value;
  }
  std::map<std::string, std::string> now = defaults;
  for (const auto& [name, value] : settings) now[name] = value;
  for (const auto& [name, value] : values) {
    if (changes_nothing(name, inputs_are_compared)) continue;
    const auto other = now.find(name);
    if (other == now.end()) return fmt::format("{} was \"{}\" and is gone", name, shown(value));
    if (other->second != value) {
      return fmt::format("{} was \"{}\" and is now \"{}\"", name, shown(value), shown(other->second));
    }
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> prepare_settings(const TextJob& job) {
  std::map<std::string, std::string> settings;
  write_settings("data", job.data, settings);
  for (const char* other : {"data.directory", "data.weight", "data.document_mask"})
    settings.erase(other);  // keys that affect reading, not preparation
  std::erase_if(settings, [](const auto& setting) { return setting.first.starts_with("data.mixture["); });
  if (!job.data.tokenizer_file.empty()) return settings;
  write_settings("tokenizer", as_meant(job.tokenizer), settings);
  if (job.target_tokenizer) write_settings("target_tokenizer", as_meant(*job.target_tokenizer), settings);
  return settings;
}

std::vector<InputEntry> stat_inputs(const std::vector<PrepareInput>& files) {
  std::vector<InputEntry> inputs;
  for (const auto& [role, file] : files) {
    InputEntry entry{.role = role, .path = file.name().string()};
    if (file.is_copied()) {
      entry.bytes = file.size();
      entry.checksum = hash_file(file);
    } else {
      struct stat info {};
      if (::stat(file.name().c_str(), &info) != 0) throw_errno("stat", file.name());
      require<DataError>(S_ISREG(info.st_mode), "{} is no regular file", file.name().string());
      entry.bytes = static_cast<uint64_t>(info.st_size);
      entry.modified = std::max(int64_t{0}, info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec);
    }
    inputs.push_back(std::move(entry));
  }
  return inputs;
}

void fill_checksums(const std::vector<PrepareInput>& files, std::span<const uint64_t> known,
                    std::vector<InputEntry>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].checksum = i < known.size() ? known[i] : hash_file(files[i].file);
}

uint64_t identity_of(const std::map<std::string, std::string>& settings, const std::vector<InputEntry>& inputs) {
  Hasher hasher;
  const auto add = [&](const std::string& text) { hasher.update(text.c_str(), text.size() + 1); };
  add(fmt::format("{}", kDatasetVersion));
  for (const auto& [key, value] : settings) add(key), add(value);
  for (const InputEntry& input : inputs) {
    add(input.role), add(input.path);
    add(fmt::format("{} {} {}", input.bytes, input.modified, input.checksum));
  }
  return hasher.digest();
}

std::string difference_of_dataset(const Manifest& manifest, const std::map<std::string, std::string>& settings,
                                  const std::vector<PrepareInput>& files, const std::vector<InputEntry>& inputs) {
  const bool roles = std::ranges::all_of(manifest.inputs, [](const InputEntry& i) { return !i.role.empty(); });
  if (std::string differs = settings_difference(manifest, settings, roles); !differs.empty()) return differs;
  if (inputs.size() != manifest.inputs.size()) {
    return fmt::format("it was made from {} files, now there are {}", manifest.inputs.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputEntry &now = inputs[i], &then = manifest.inputs[i];
    if (!then.role.empty() && now.role != then.role) {
      return fmt::format("{} was read for {} where {} is now named for {}", then.path, then.role, now.path, now.role);
    }
    if (now.bytes != then.bytes) return fmt::format("{} had {} bytes and has {}", now.path, then.bytes, now.bytes);
    const bool untouched = now.path == then.path && now.modified == then.modified && !files[i].file.is_copied();
    if (!untouched && hash_file(files[i].file) != then.checksum) return fmt::format("{} has changed", now.path);
  }
  return {};
}

std::string difference_of_settings(const Manifest& manifest, const std::map<std::string, std::string>& settings) {
  return settings_difference(manifest, settings, false);
}

}  // namespace weft
