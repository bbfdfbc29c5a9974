// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "checkpoint/digest/state_digest.h"
#include "checkpoint/parts/array_reader.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUseAnother =
    "use another checkpoint of the run; `weft inspect DIR --verify` lists what is damaged";

std::string plain_name(const Json& json) {
  auto name = json.get<std::string>();
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
  require<DataError>(plain, "file name '{}'", name);
  return name;
}

CheckpointFile file_from_json(const Json& json, int version) {
  CheckpointFile file{.name = plain_name(json.at("name")), .bytes = integer_from<uint64_t>(json.at("bytes"))};
  if (version == 1) {
    file.listed = std::make_shared<const PartIndex>(parse_slices(json.at("slices"), file.bytes));
    return file;
  }
  const Json& index = json.at("index");
  file.index = {.offset = integer_from<uint64_t>(index.at("offset")),
                .bytes = integer_from<uint64_t>(index.at("bytes")),
                .hash = hash_from(index.at("hash"))};
  const bool inside = file.index.offset <= file.bytes && file.index.bytes <= file.bytes - file.index.offset;
  require<DataError>(inside, "{}: its index lies outside the file", file.name);
  return file;
}

// Sizes are 0 if the manifest states no layout. An axis missing from the layout is newer than it and had size 1.
MeshLayout layout_from(const Json& body) {
  MeshLayout layout;
  const bool stated = body.contains("layout");
  for (const GridAxis& grid : kGridAxes) {
    layout.*grid.size = stated ? integer_or<int>(body["layout"], std::string(name(grid.axis)).c_str(), 1) : 0;
  }
  return layout;
}

// Null, or absent in the manifests of earlier builds: there is none.
std::optional<uint64_t> digest_from(const Json& body) {
  const Json digest = body.value("digest", Json());
  return digest.is_null() ? std::nullopt : std::optional(hash_from(digest));
}

std::optional<DigestedSave> save_from(const Json& save) {
  if (save.is_null()) return std::nullopt;
  return DigestedSave{.step = integer_from<int64_t>(save.at("step")), .digest = hash_from(save.at("digest"))};
}

Json json_of(const std::optional<DigestedSave>& save) {
  if (!save) return nullptr;
  return {{"step", save->step}, {"digest", hash_hex(save->digest)}};
}

CheckpointManifest manifest_from_json(const Json& json) {
  const int version = integer_from<int>(json.at("version"));
  require<DataError>(version >= 1 && version <= CheckpointManifest::kVersion,
                     "format version {}; this build reads versions up to {}", version, CheckpointManifest::kVersion);
  CheckpointManifest m;
  m.step = integer_from<int64_t>(json.at("step"));
  m.sequence = integer_or<int64_t>(json, "sequence", 0);
  m.attempt = integer_or<int64_t>(json, "attempt", 0);
  m.state = json.at("state");
  m.job = json.at("job").get<std::string>();
  m.fingerprint = json.at("fingerprint");
  m.provenance = json.value("provenance", Json());
  m.layout = layout_from(json);
  m.digest = digest_from(json);
  m.save_before = save_from(json.value("save_before", Json()));
  for (const Json& file : json.at("files")) m.files.push_back(file_from_json(file, version));
  for (const Json& a : json.at("attachments")) {
    m.attachments.push_back({plain_name(a.at("name")), integer_from<uint64_t>(a.at("bytes")), hash_from(a.at("hash"))});
  }
  return m;
}

}  // namespace

// The text holds the body and its hash, so that a damaged manifest does not pass for a smaller one.
std::string checkpoint_manifest_text(const CheckpointManifest& m) {
  Json files = Json::array();
  for (const CheckpointFile& f : m.files) {
    const Json index = {{"offset", f.index.offset}, {"bytes", f.index.bytes}, {"hash", hash_hex(f.index.hash)}};
    files.push_back({{"name", f.name}, {"bytes", f.bytes}, {"index", index}});
  }
  Json attachments = Json::array();
  for (const CheckpointAttachment& a : m.attachments) {
    attachments.push_back({{"name", a.name}, {"bytes", a.bytes}, {"hash", hash_hex(a.hash)}});
  }
  const Json body = {{"version", CheckpointManifest::kVersion},
                     {"step", m.step},
                     {"sequence", m.sequence},
                     {"attempt", m.attempt},
                     {"state", m.state},
                     {"job", m.job},
                     {"fingerprint", m.fingerprint},
                     {"provenance", m.provenance},
                     {"layout", m.layout},
                     {"digest", m.digest ? Json(hash_hex(*m.digest)) : Json()},
                     {"save_before", json_of(m.save_before)},
                     {"files", files},
                     {"attachments", attachments}};
  const std::string text = body.dump();
  return Json{{"weft_checkpoint", body}, {"hash", hash_hex(hash64(text))}}.dump() + "\n";
}

fs::path manifest_path(const fs::path& checkpoint) { return checkpoint / kCheckpointManifest; }

bool has_manifest(const fs::path& checkpoint) { return fs::exists(manifest_path(checkpoint)); }

std::string read_manifest_text(const fs::path& checkpoint) {
  require<DataError>(has_manifest(checkpoint), "{}: not a committed checkpoint (no {})", checkpoint.string(),
                     kCheckpointManifest);
  return read_file(manifest_path(checkpoint));
}

CheckpointManifest parse_checkpoint_manifest(std::string_view text, const fs::path& path) {
  try {
    const auto json = parse_json<Json>(text, "the manifest");
    const Json& body = json.at("weft_checkpoint");
    require<DataError>(json.at("hash").get<std::string>() == hash_hex(hash64(body.dump())), "its hash differs");
    return manifest_from_json(body);
  } catch (const std::exception& error) {
    throw DataError(fmt::format("{}: {}", path.string(), error.what()), kUseAnother);
  }
}

CheckpointManifest read_checkpoint_manifest(const fs::path& checkpoint) {
  return parse_checkpoint_manifest(read_manifest_text(checkpoint), manifest_path(checkpoint));
}

void check_files(const fs::path& checkpoint, const CheckpointManifest& manifest) {
  for (const CheckpointFile& file : manifest.files) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(checkpoint / file.name, error);
    if (!error && bytes == file.bytes) continue;
    const std::string where = fmt::format("{}: {}", manifest_path(checkpoint).string(), file.name);
    if (error == std::errc::no_such_file_or_directory) throw DataError(where + " is missing", kUseAnother);
    if (error) {
      errno = error.value();
      throw_errno("look at", checkpoint / file.name);
    }
    throw DataError(fmt::format("{} has {} bytes, {} were written", where, bytes, file.bytes), kUseAnother);
  }
}

std::shared_ptr<const PartIndex> read_index(const fs::path& checkpoint, const CheckpointFile& stored) {
  return read_index(File(checkpoint / stored.name, File::Mode::Read), stored);
}

std::shared_ptr<const PartIndex> read_index(const File& file, const CheckpointFile& stored) {
  if (stored.listed) return stored.listed;
  std::string text(stored.index.bytes, '\0');
  file.read_at(stored.index.offset, text.data(), text.size());
  try {
    require<DataError>(hash64(text) == stored.index.hash, "its index is damaged (its checksum differs)");
    return std::make_shared<const PartIndex>(parse_index(text, stored.bytes));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", file.path().string(), error.what()), kUseAnother);
  }
}

std::string read_attachment(const fs::path& checkpoint, const CheckpointManifest& manifest, const std::string& name) {
  for (const CheckpointAttachment& a : manifest.attachments) {
    if (a.name != name) continue;
    std::string text = read_file(checkpoint / name);
    require<DataError>(text.size() == a.bytes && hash64(text) == a.hash, "{}: damaged (its checksum differs)",
                       (checkpoint / name).string());
    return text;
  }
  throw DataError(fmt::format("{}: the checkpoint has no {}", checkpoint.string(), name));
}

void verify_attachments(const fs::path& checkpoint, const CheckpointManifest& manifest) {
  for (const CheckpointAttachment& a : manifest.attachments) read_attachment(checkpoint, manifest, a.name);
}

uint64_t verify_arrays(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress, int reader, int readers) {
  uint64_t digest = 0;
  for (auto i = static_cast<size_t>(reader); i < manifest.files.size(); i += static_cast<size_t>(readers)) {
    const File file(checkpoint / manifest.files[i].name, File::Mode::Read);
    const auto index = read_index(file, manifest.files[i]);
    for (const StoredArray& array : index->arrays) digest += verify_array(file, array, index->block_bytes, on_progress);
  }
  return digest;
}

void verify_checkpoint(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress) {
  verify_attachments(checkpoint, manifest);
  const uint64_t arrays = verify_arrays(checkpoint, manifest, on_progress);
  if (!manifest.digest) return;
  const uint64_t found = arrays + digest_of(run_state_of(manifest, checkpoint));
  if (found == *manifest.digest) return;
  throw DataError(fmt::format("{}: its digest is {}, that of the state that was saved is {}", checkpoint.string(),
                              hash_hex(found), hash_hex(*manifest.digest)),
                  kUseAnother);
}

}  // namespace weft
