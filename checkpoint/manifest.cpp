#include "checkpoint/manifest.h"

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/slice_reader.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

Shape shape_from(const Json& json) {
  const auto dims = json.get<std::vector<int64_t>>();
  require<DataError>(dims.size() <= Shape::kMaxRank, "a shape of {} dims", dims.size());
  for (const int64_t d : dims) require<DataError>(d >= 0 && d <= (int64_t{1} << 40), "a dimension of {}", d);
  return Shape(dims);
}

std::string plain_name(const Json& json) {
  auto name = json.get<std::string>();
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
  require<DataError>(plain, "file name '{}'", name);
  return name;
}

uint64_t hash_from(const Json& json) {
  const auto text = json.get<std::string>();
  const bool hex = text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  require<DataError>(hex, "checksum '{}'", text);
  return std::stoull(text, nullptr, 16);
}

CheckpointSlice slice_from_json(const Json& json) {
  CheckpointSlice s;
  s.buffer = json.at("buffer").get<std::string>();
  s.name = json.at("name").get<std::string>();
  const auto dtype = json.at("dtype").get<std::string>();
  require<DataError>(dtype == "f32" || dtype == "f64", "dtype {} of {}", dtype, s.name);
  s.dtype = dtype == "f32" ? DType::F32 : DType::F64;
  s.shape = shape_from(json.at("shape"));
  s.origin = json.at("origin").get<std::vector<int64_t>>();
  s.extent = shape_from(json.at("extent"));
  s.offset = json.at("offset").get<uint64_t>();
  s.hash = hash_from(json.at("hash"));
  return s;
}

void check_slice(const CheckpointSlice& s, const CheckpointFile& file) {
  const auto rank = s.shape.rank();
  require<DataError>(static_cast<int>(s.origin.size()) == rank && s.extent.rank() == rank, "{}: ranks of {} disagree",
                     file.name, s.name);
  for (int d = 0; d < rank; ++d) {
    require<DataError>(s.origin[d] >= 0 && s.origin[d] + s.extent[d] <= s.shape[d], "{}: slice of {} leaves the tensor",
                       file.name, s.name);
  }
  require<DataError>(s.offset <= file.bytes && s.bytes() <= file.bytes - s.offset, "{}: slice of {} leaves the file",
                     file.name, s.name);
}

CheckpointManifest parse_checkpoint_manifest(const Json& json) {
  const int version = json.at("version").get<int>();
  require<DataError>(version == CheckpointManifest::kVersion, "format version {}; this build reads version {}", version,
                     CheckpointManifest::kVersion);
  CheckpointManifest m;
  m.step = json.at("step").get<int64_t>();
  m.sequence = json.value("sequence", int64_t{0});
  m.attempt = json.value("attempt", int64_t{0});
  m.state = json.at("state");
  m.job = json.at("job").get<std::string>();
  m.fingerprint = json.at("fingerprint");
  m.provenance = json.value("provenance", Json());
  for (const Json& file : json.at("files")) m.files.push_back(file_from_json(file));
  for (const Json& a : json.at("attachments")) {
    m.attachments.push_back({plain_name(a.at("name")), a.at("bytes").get<uint64_t>(), hash_from(a.at("hash"))});
  }
  return m;
}

}  // namespace

Json file_to_json(const CheckpointFile& file) {
  Json slices = Json::array();
  for (const CheckpointSlice& s : file.slices) {
    slices.push_back({{"buffer", s.buffer},
                      {"name", s.name},
                      {"dtype", std::string(name(s.dtype))},
                      {"shape", dims_of(s.shape)},
                      {"origin", s.origin},
                      {"extent", dims_of(s.extent)},
                      {"offset", s.offset},
                      {"hash", hash_hex(s.hash)}});
  }
  return {{"name", file.name}, {"bytes", file.bytes}, {"slices", slices}};
}

CheckpointFile file_from_json(const Json& json) {
  CheckpointFile file;
  file.name = plain_name(json.at("name"));
  file.bytes = json.at("bytes").get<uint64_t>();
  for (const Json& slice : json.at("slices")) {
    file.slices.push_back(slice_from_json(slice));
    check_slice(file.slices.back(), file);
  }
  return file;
}

// The body and a hash of it, so that a damaged manifest is not mistaken for a smaller one.
std::string checkpoint_manifest_text(const CheckpointManifest& m) {
  Json files = Json::array();
  for (const CheckpointFile& file : m.files) files.push_back(file_to_json(file));
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
                     {"files", files},
                     {"attachments", attachments}};
  const std::string text = body.dump();
  return Json{{"weft_checkpoint", body}, {"hash", hash_hex(hash64(text))}}.dump() + "\n";
}

fs::path manifest_path(const fs::path& checkpoint) { return checkpoint / kCheckpointManifest; }

bool has_manifest(const fs::path& checkpoint) { return fs::exists(manifest_path(checkpoint)); }

CheckpointManifest read_checkpoint_manifest(const fs::path& checkpoint) {
  const fs::path path = manifest_path(checkpoint);
  require<DataError>(fs::exists(path), "{}: not a committed checkpoint (no manifest.json)", checkpoint.string());
  try {
    const Json json = Json::parse(read_file(path));
    const Json& body = json.at("weft_checkpoint");
    require<DataError>(json.at("hash").get<std::string>() == hash_hex(hash64(body.dump())), "its hash does not fit");
    CheckpointManifest manifest = parse_checkpoint_manifest(body);
    for (const CheckpointFile& file : manifest.files) {
      std::error_code error;
      const uint64_t bytes = fs::file_size(checkpoint / file.name, error);
      require<DataError>(!error && bytes == file.bytes, "{} has {} bytes, {} were written", file.name,
                         error ? 0 : bytes, file.bytes);
    }
    return manifest;
  } catch (const std::exception& error) {
    throw DataError(fmt::format("{}: {}", path.string(), error.what()),
                    "use another checkpoint of the run; `weft inspect DIR --verify` lists what is damaged");
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

void verify_slices(const fs::path& checkpoint, const CheckpointManifest& manifest,
                   const std::function<void()>& on_progress, int reader, int readers) {
  const UsePiece count = [&](const std::byte*, const std::vector<int64_t>&, const Shape&) {
    if (on_progress) on_progress();
  };
  for (auto i = static_cast<size_t>(reader); i < manifest.files.size(); i += static_cast<size_t>(readers)) {
    const CheckpointFile& stored = manifest.files[i];
    const File file(checkpoint / stored.name, File::Mode::Read);
    for (const CheckpointSlice& s : stored.slices) read_slice(file, s, count);
  }
}

void verify_checkpoint(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress) {
  verify_attachments(checkpoint, manifest);
  verify_slices(checkpoint, manifest, on_progress);
}

}  // namespace weft
