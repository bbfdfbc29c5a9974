// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest_node.h"

#include <charconv>

#include "base/error.h"
#include "base/json.h"

namespace weft {

ManifestNode ManifestNode::at(const std::string& key) const {
  require<DataError>(json_.is_object() && json_.contains(key), "{} has no \"{}\"", where_, key);
  return {json_.at(key), where_ + ": " + key};
}

std::vector<ManifestNode> ManifestNode::items() const {
  require<DataError>(json_.is_array(), "{} is no list", where_);
  std::vector<ManifestNode> nodes;
  nodes.reserve(json_.size());
  for (const nlohmann::json& item : json_) nodes.emplace_back(item, fmt::format("{}[{}]", where_, nodes.size()));
  return nodes;
}

std::vector<std::pair<std::string, ManifestNode>> ManifestNode::members() const {
  require<DataError>(json_.is_object(), "{} is no object", where_);
  std::vector<std::pair<std::string, ManifestNode>> nodes;
  for (const auto& [key, value] : json_.items()) nodes.emplace_back(key, ManifestNode(value, where_ + ": " + key));
  return nodes;
}

bool ManifestNode::flag() const {
  require<DataError>(json_.is_boolean(), "{} is neither true nor false", where_);
  return json_.get<bool>();
}

int64_t ManifestNode::count(int64_t most) const {
  const bool fits = json_.is_number_unsigned() && json_.get<uint64_t>() <= static_cast<uint64_t>(most);
  require<DataError>(fits, "{} is {}, not a number from 0 to {}", where_, json_excerpt(json_), most);
  return json_.get<int64_t>();
}

double ManifestNode::number() const {
  require<DataError>(json_.is_number(), "{} is no number", where_);
  return json_.get<double>();
}

std::string ManifestNode::text() const {
  require<DataError>(json_.is_string(), "{} is no string", where_);
  return json_.get<std::string>();
}

uint64_t ManifestNode::checksum() const {
  const std::string digits = text();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  require<DataError>(error == std::errc{} && digits.size() == 16 && end == digits.data() + 16,
                     "{} is no checksum of 16 hexadecimal digits", where_);
  return value;
}

std::string ManifestNode::file_name() const {
  const std::string name = text();
  require<DataError>(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                         name.find('\0') == std::string::npos,
                     "{} is no file name", where_);
  return name;
}

}  // namespace weft
