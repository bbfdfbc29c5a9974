// SPDX-License-Identifier: Apache-2.0
#include "exchange/chat_template.h"

#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text/sha256.h"
#include "data/chat/jinja.h"
#include "data/chat/published.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kTemplate = "chat_template";
constexpr const char* kOwn = "weft_chat";  // data.chat of the job, as YAML

std::string text_of(const Json& value, const std::string& where) {
  require<DataError>(value.is_string(), "{} is {}, and no text", where, json_excerpt(value));
  return value.get<std::string>();
}

// One template, or a list of them by name.
std::string default_template(const Json& value, const std::string& where) {
  if (!value.is_array()) return text_of(value, where);
  for (const Json& named : value) {
    if (named.is_object() && named.value("name", Json()) == "default" && named.contains("template")) {
      return text_of(named["template"], where);
    }
  }
  return {};
}

// What weft has exported, unless its Jinja was changed since.
std::optional<ChatConfig> own_template(const Json& config, const std::string& jinja, const std::string& where) {
  if (!config.contains(kOwn)) return std::nullopt;
  const std::string place = where + ": " + kOwn;
  try {
    ChatConfig chat = parse_config<ChatConfig>(text_of(config[kOwn], place), place);
    if (jinja_of(ChatTemplate::of(chat)) == jinja) return chat;
  } catch (const ConfigError& error) {
    throw DataError(error.what(), error.hint());
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChatConfig> read_chat_template(const fs::path& directory) {
  const fs::path path = directory / kTokenizerConfig, own = directory / "chat_template.jinja";
  const Json config = fs::exists(path) ? parse_json<Json>(read_file(path), path.string()) : Json::object();
  require<DataError>(config.is_object(), "{} is no object", path.string());
  std::string jinja;
  if (fs::exists(own)) {
    jinja = read_file(own);
  } else if (config.contains(kTemplate) && !config[kTemplate].is_null()) {
    jinja = default_template(config[kTemplate], path.string() + ": " + kTemplate);
  }
  if (jinja.empty()) return std::nullopt;
  std::optional<ChatConfig> chat = own_template(config, jinja, path.string());
  if (!chat) chat = published_template(jinja);
  if (!chat) {
    log_warning(
        "{}: the chat template with the SHA-256 {} is none that weft knows. The model is imported without one: "
        "name what fits with weft chat --template, or describe it in a job's data.chat (template: own)",
        directory.string(), sha256(jinja));
  }
  return chat;
}

void add_chat_template(const ChatConfig& chat, std::map<std::string, std::string>& files) {
  std::string& text = files.at(kTokenizerConfig);
  Json config = parse_json<Json>(text, kTokenizerConfig);
  config[kTemplate] = jinja_of(ChatTemplate::of(chat));
  config[kOwn] = to_yaml(chat);
  text = config.dump(2) + "\n";
}

}  // namespace weft
