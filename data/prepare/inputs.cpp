#include "data/prepare/inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "data/shard.h"

namespace weft {

namespace {

// Writes every field of a section as text, under its dotted name.
class SettingsWriter {
 public:
  SettingsWriter(std::string prefix, std::map<std::string, std::string>& into)
      : prefix_(std::move(prefix)), into_(into) {}

  template <class T>
  void field(const char* name, T& value, const char*, Range = {}) {
    const std::string key = prefix_ + "." + name;
    if constexpr (Section<T>) {
      SettingsWriter inner(key, into_);
      value.fields(inner);
    } else {
      into_[key] = text(value);
    }
  }

 private:
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

// The section with what is meant where it says nothing: a dataset that was made before its default was named so.
TokenizerConfig as_meant(TokenizerConfig config) {
  if (config.kind != TokenizerKind::Tiktoken) config.pattern = config.learnt_pattern();
  return config;
}

uint64_t hash_file(const fs::path& path) { return file_checksum(File(path, File::Mode::Read)); }

}  // namespace

std::map<std::string, std::string> prepare_settings(const DataConfig& data, const TokenizerConfig& tokenizer,
                                                    const std::optional<TokenizerConfig>& target_tokenizer) {
  std::map<std::string, std::string> settings;
  write_settings("data", data, settings);
  settings.erase("data.directory");
  if (!data.tokenizer_file.empty()) return settings;
  write_settings("tokenizer", as_meant(tokenizer), settings);
  if (target_tokenizer) write_settings("target_tokenizer", as_meant(*target_tokenizer), settings);
  return settings;
}

std::vector<InputEntry> stat_inputs(const std::vector<fs::path>& paths) {
  std::vector<InputEntry> inputs;
  for (const fs::path& path : paths) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) throw_errno("stat", path);
    require<DataError>(!S_ISDIR(info.st_mode), "{} is a directory, not a file", path.string());
    require<DataError>(S_ISREG(info.st_mode), "{} is no regular file: preparation reads its input more than once",
                       path.string());
    inputs.push_back(
        {.path = path.string(),
         .bytes = static_cast<uint64_t>(info.st_size),
         .modified = std::max(int64_t{0}, info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec)});
  }
  return inputs;
}

void hash_inputs(std::vector<InputEntry>& inputs) {
  for (InputEntry& input : inputs) input.checksum = hash_file(input.path);
}

std::string difference(const Manifest& manifest, const std::map<std::string, std::string>& settings,
                       const std::vector<InputEntry>& inputs) {
  std::map<std::string, std::string> before;
  for (const auto& [name, value] : manifest.settings) {
    before.emplace(renamed_key(kRenamedDataKeys, name).value_or(name), value);
  }
  std::map<std::string, std::string> defaults;
  write_settings("data", DataConfig{}, defaults);
  write_settings("tokenizer", TokenizerConfig{}, defaults);
  write_settings("target_tokenizer", TokenizerConfig{}, defaults);
  for (const auto& [name, value] : settings) {
    const auto old = before.find(name);
    // An earlier version had no such key, and did what its default says.
    const auto unsaid = defaults.find(name);
    if (old == before.end() && unsaid != defaults.end() && unsaid->second == value) continue;
    if (old == before.end()) return fmt::format("{} is new", name);
    if (old->second != value) return fmt::format("{} was \"{}\" and is now \"{}\"", name, old->second, value);
  }
  for (const auto& [name, value] : before) {
    if (!settings.contains(name)) return fmt::format("{} was \"{}\" and is gone", name, value);
  }
  if (inputs.size() != manifest.inputs.size()) {
    return fmt::format("it was made from {} files, now there are {}", manifest.inputs.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputEntry &now = inputs[i], &then = manifest.inputs[i];
    if (now.path != then.path) return fmt::format("{} was read where {} is now named", then.path, now.path);
    if (now.bytes != then.bytes) return fmt::format("{} had {} bytes and has {}", now.path, then.bytes, now.bytes);
    if (now.modified != then.modified && hash_file(now.path) != then.checksum) {
      return fmt::format("{} has changed", now.path);
    }
  }
  return {};
}

std::vector<fs::path> tokenizer_inputs(const DataConfig& data, const TokenizerConfig& tokenizer,
                                       const std::optional<TokenizerConfig>& target_tokenizer) {
  std::vector<fs::path> paths;
  const auto add = [&](const std::string& name) {
    if (!name.empty()) paths.emplace_back(name);
  };
  add(data.tokenizer_file), add(data.target_tokenizer_file);
  if (!data.tokenizer_file.empty()) return paths;
  const auto add_section = [&](const TokenizerConfig& config) {
    add(config.vocab_file), add(config.merges_file), add(config.ranks_file), add(config.model_file);
  };
  add_section(tokenizer);
  if (target_tokenizer) add_section(*target_tokenizer);
  return paths;
}

}  // namespace weft
