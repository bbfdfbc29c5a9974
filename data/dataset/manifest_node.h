// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// A value of a manifest, and its place there for messages. Every accessor throws DataError with the place if the value
// is of another kind than is asked for.
class ManifestNode {
 public:
  // The JSON must outlive the node.
  ManifestNode(const nlohmann::json& json, std::string where) : json_(json), where_(std::move(where)) {}

  ManifestNode at(const std::string& key) const;
  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }
  std::vector<ManifestNode> items() const;
  std::vector<std::pair<std::string, ManifestNode>> members() const;
  bool flag() const;
  int64_t count(int64_t most = int64_t{1} << 60) const;
  double number() const;
  std::string text() const;
  uint64_t checksum() const;
  std::string file_name() const;
  const std::string& where() const { return where_; }

 private:
  const nlohmann::json& json_;
  std::string where_;
};

}  // namespace weft
