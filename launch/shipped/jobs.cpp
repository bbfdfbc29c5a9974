// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/jobs.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "base/config/value.h"
#include "base/error.h"

namespace weft {
namespace {

constexpr std::string_view kFolder = "configs/";

std::string first_comment(const fs::path& file) {
  const std::string text = read_file(file);
  const std::string line = text.substr(0, text.find('\n'));
  return line.starts_with("# ") ? line.substr(2) : "";
}

bool is_path_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
}

// The text with `change` applied to each word that may be a path.
std::string with_words(std::string_view text, const std::function<std::string(const std::string& word)>& change) {
  std::string changed;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t begin = at;
    while (at < text.size() && is_path_character(text[at])) ++at;
    if (at > begin) changed += change(std::string(text.substr(begin, at - begin)));
    if (at < text.size()) changed += text[at];
  }
  return changed;
}

// `absolute` if there is such a file, else the word itself; a dot that ends a sentence is no part of the path.
std::string if_there(const std::string& word, const fs::path& absolute) {
  const std::string path = absolute.lexically_normal().string();
  const std::string without_dot = path.substr(0, path.find_last_not_of('.') + 1);
  return fs::exists(without_dot) ? path : word;
}

}  // namespace

fs::path shipped_configs(const fs::path& program) {
  const fs::path folder = program.parent_path();
  for (const fs::path& share : {folder / "share/weft", folder / WEFT_INSTALLED_SHARE}) {
    std::error_code none;
    const fs::path configs = fs::canonical(share / kFolder, none);
    if (!none) return configs;
  }
  throw DataError(
      fmt::format("the jobs that come with weft are neither in {} nor in {}", (folder / "share/weft").string(),
                  (folder / WEFT_INSTALLED_SHARE).lexically_normal().string()),
      "cmake --install puts them there; move an installed weft with its share folder");
}

std::vector<ShippedJob> shipped_jobs(const fs::path& configs) {
  std::vector<ShippedJob> jobs;
  for (const auto& entry : fs::recursive_directory_iterator(configs)) {
    const fs::path path = entry.path().lexically_relative(configs);
    if (path.extension() != ".yaml" || *path.begin() == "shared") continue;
    std::string name = fs::path(path).replace_extension().string();
    std::ranges::replace(name, '/', '-');
    jobs.push_back({.name = name, .purpose = first_comment(entry.path()), .file = entry.path()});
  }
  std::ranges::sort(jobs, {}, &ShippedJob::name);
  return jobs;
}

ShippedJob find_shipped_job(const fs::path& configs, const std::string& name) {
  const std::vector<ShippedJob> jobs = shipped_jobs(configs);
  const auto at = std::ranges::find(jobs, name, &ShippedJob::name);
  if (at != jobs.end()) return *at;
  std::vector<std::string> names;
  for (const ShippedJob& job : jobs) names.push_back(job.name);
  const std::string nearest = nearest_name(name, names);
  throw ConfigError(fmt::format("no job that comes with weft is called '{}'", name),
                    nearest.empty() ? "weft jobs lists them" : fmt::format("did you mean '{}'?", nearest));
}

std::string copy_of(const ShippedJob& job, const fs::path& configs) {
  // A job names its data by patterns, in lists; YAML reads these characters in a way of its own.
  require<ConfigError>(configs.string().find_first_of("*?[]{},#:\"'\\&!|>%@`\n") == std::string::npos,
                       "{} has a character that a job cannot have in a path: move weft to another folder",
                       configs.string());
  const auto beside_job = [&](const std::string& word) {
    return word.ends_with(".yaml") ? if_there(word, job.file.parent_path() / word) : word;
  };
  const auto below_configs = [&](const std::string& word) {
    return word.starts_with(kFolder) ? if_there(word, configs / word.substr(kFolder.size())) : word;
  };
  const std::string text = read_file(job.file);
  std::string copy;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    const size_t comment = std::min(line.find('#'), line.size());
    copy += line.starts_with("extends:") ? with_words(line.substr(0, comment), beside_job)
                                         : with_words(line.substr(0, comment), below_configs);
    copy += with_words(line.substr(comment), below_configs);
    begin = end;
  }
  return copy;
}

}  // namespace weft
