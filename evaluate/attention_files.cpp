// SPDX-License-Identifier: Apache-2.0
#include "evaluate/attention_files.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/hdf5.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json tokens_json(const ShownTokens& tokens) {
  Json list = Json::array();
  for (size_t i = 0; i < tokens.ids.size(); ++i) list.push_back({{"id", tokens.ids[i]}, {"text", tokens.texts[i]}});
  return list;
}

// The digits of a weight that an fp32 softmax has.
double rounded(double weight) { return std::round(weight * 1e7) / 1e7; }

Json matrix_json(std::span<const float> weights, int64_t rows) {
  Json matrix = Json::array();
  const size_t columns = weights.size() / static_cast<size_t>(rows);
  for (int64_t r = 0; r < rows; ++r) {
    Json row = Json::array();
    for (const float w : weights.subspan(r * columns, columns)) row.push_back(rounded(w));
    matrix.push_back(std::move(row));
  }
  return matrix;
}

Json map_json(const AttentionMap& map) {
  Json json = {{"kind", enum_name(map.kind)}, {"layer", map.layer}, {"entropy", map.entropy}};
  json["mean"] = matrix_json(map.mean, map.queries);
  for (int64_t h = 0; h < map.heads; ++h) json["heads"].push_back(matrix_json(map.head(h), map.queries));
  return json;
}

Json head_json(const AlignmentHead& head) {
  return {{"layer", head.layer}, {"head", head.head}, {"token", enum_name(head.token)}};
}

Json alignment_json(const TextAttention& attention) {
  const Alignment& a = *attention.alignment;
  Json json = head_json(a.head);
  json["tokens"] = a.tokens;
  json["source_words"] = a.source.words, json["words"] = a.translation.words;
  json["moses"] = moses_line(a.words);
  for (const ScoredHead& scored : attention.heads) {
    Json head = head_json(scored.head);
    head["score"] = scored.score;
    json["scores"].push_back(std::move(head));
  }
  return json;
}

// Arrays of a file: HDF5 makes their places, and their bytes are written once it has closed the file.
class ArrayFile {
 public:
  explicit ArrayFile(const fs::path& path)
      : made_(path), file_(Hdf5File::create(fmt::format("/proc/self/fd/{}", made_.file().descriptor()))) {}
  Hdf5File& structure() { return file_; }

  template <class T>
  void add(const std::string& path, Hdf5Type type, const std::vector<int64_t>& shape, std::span<const T> values) {
    file_.create_array(path, type, shape);
    const auto bytes = std::as_bytes(values);
    contents_.emplace_back(path, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  void commit() {
    std::vector<uint64_t> offsets;
    for (const auto& [path, bytes] : contents_) offsets.push_back(file_.array(path).offset);
    file_.close();
    for (size_t i = 0; i < offsets.size(); ++i) {
      const std::vector<std::byte>& bytes = contents_[i].second;
      made_.file().write_at(offsets[i], bytes.data(), bytes.size());
    }
    made_.commit();
  }

 private:
  NewFile made_;
  Hdf5File file_;
  std::vector<std::pair<std::string, std::vector<std::byte>>> contents_;
};

// The texts of tokens end to end; token i is bytes offsets[i] to offsets[i + 1].
void add_tokens(ArrayFile& file, const std::string& group, const ShownTokens& tokens) {
  std::string bytes;
  std::vector<int64_t> offsets{0};
  for (const std::string& text : tokens.texts) bytes += text, offsets.push_back(std::ssize(bytes));
  const auto count = std::ssize(tokens.ids);
  file.structure().create_group(group);
  file.add(group + "/ids", Hdf5Type::I32, {count}, std::span<const int32_t>(tokens.ids));
  file.add(group + "/bytes", Hdf5Type::U8, {std::ssize(bytes)}, std::span<const char>(bytes));
  file.add(group + "/offsets", Hdf5Type::I64, {count + 1}, std::span<const int64_t>(offsets));
}

void add_maps(ArrayFile& file, AttentionKind kind, const std::vector<AttentionMap>& maps) {
  std::vector<float> weights;
  std::vector<double> entropy;
  const AttentionMap* one = nullptr;
  int64_t layers = 0;
  for (const AttentionMap& map : maps) {
    if (map.kind != kind) continue;
    weights.insert(weights.end(), map.weights.begin(), map.weights.end());
    entropy.insert(entropy.end(), map.entropy.begin(), map.entropy.end());
    one = &map, ++layers;
  }
  if (layers == 0) return;
  const std::string group = fmt::format("/{}", enum_name(kind));
  file.structure().create_group(group);
  file.add(group + "/weights", Hdf5Type::F32, {layers, one->heads, one->queries, one->keys},
           std::span<const float>(weights));
  file.add(group + "/entropy", Hdf5Type::F64, {layers, one->heads}, std::span<const double>(entropy));
}

void add_alignment(ArrayFile& file, const Alignment& alignment) {
  std::vector<int64_t> links;
  for (const auto& [from, to] : alignment.tokens) links.insert(links.end(), {from, to});
  file.structure().create_group("/alignment");
  file.add("/alignment/tokens", Hdf5Type::I64, {std::ssize(alignment.tokens), 2}, std::span<const int64_t>(links));
  file.structure().set_attribute("/alignment", "head", text_of(alignment.head));
}

}  // namespace

std::string attention_json(const TextAttention& attention) {
  Json json = {{"model", attention.model}};
  if (!attention.maps.source.ids.empty()) {
    json["source"] = {{"text", attention.source}, {"tokens", tokens_json(attention.maps.source)}};
  }
  json["text"] = {{"text", attention.text}, {"tokens", tokens_json(attention.maps.text)}};
  for (const AttentionMap& map : attention.maps.maps) json["attention"].push_back(map_json(map));
  if (attention.alignment) json["alignment"] = alignment_json(attention);
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

void require_free(const fs::path& file) {
  std::error_code ignored;
  if (fs::symlink_status(file, ignored).type() == fs::file_type::not_found) return;
  throw DataError(fmt::format("{} is there already", file.string()), "remove it, or write to another name");
}

void write_attention_json(const fs::path& file, const TextAttention& attention) {
  require_free(file);
  write_file_atomically(file, attention_json(attention));
}

void write_attention_hdf5(const fs::path& file, const TextAttention& attention) {
  require_free(file);
  ArrayFile arrays(file);
  if (!attention.maps.source.ids.empty()) add_tokens(arrays, "/source", attention.maps.source);
  add_tokens(arrays, "/text", attention.maps.text);
  for (const AttentionKind kind : {AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross})
    add_maps(arrays, kind, attention.maps.maps);
  if (attention.alignment) add_alignment(arrays, *attention.alignment);
  arrays.commit();
}

}  // namespace weft
