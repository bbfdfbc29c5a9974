// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/provenance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "base/process/versions.h"
#include "data/batches/padded_shape.h"
#include "kernels/context.h"
#include "trainer/step/training_setup.h"

namespace weft {

using Json = nlohmann::ordered_json;

namespace {

Json dataset_provenance(const std::vector<DatasetPart>& parts) {
  const auto describe_part = [](const DatasetPart& part) {
    return Json{{"directory", part.directory.string()}, {"train", hash_hex(part.content)}};
  };
  Json dataset = describe_part(parts.front());
  for (size_t i = 1; i < parts.size(); ++i) dataset["mixture"].push_back(describe_part(parts[i]));
  return dataset;
}

}  // namespace

Json run_provenance(const RunOrigin& origin, const Dataset& train) {
  Json libraries = Json::object();
  for (const LibraryVersion& library : library_versions()) {
    libraries[library.name] = {{"compiled", library.compiled}, {"loaded", library.loaded}};
  }
  libraries["oneDNN"] = {{"compiled", compiled_matmul_library()}, {"loaded", matmul_library()}};
  return {{"version", origin.version}, {"revision", origin.revision}, {"overrides", origin.overrides},
          {"host", host_name()},       {"libraries", libraries},      {"dataset", dataset_provenance(train.parts())}};
}

Json numerics_fingerprint(const JobConfig& job, const Mesh& mesh, const Context& context) {
  const bool same_bits = job.numerics == Numerics::SameBits;
  Json fingerprint = mesh.layout();
  if (same_bits) {
    fingerprint.erase(std::string(name(MeshAxis::Dp)));
    fingerprint["numerics"] = std::string(enum_name(job.numerics));
  }
  fingerprint["threads"] = context.threads();
  for (const auto& [name, value] : context.fingerprint()) fingerprint[name] = value;
  for (const GridAxis& grid : kGridAxes) {
    if (same_bits && (grid.axis == MeshAxis::Dp || mesh.on(grid.axis).size() == 1)) continue;  // they sum integers
    if (std::string sums = mesh.on(grid.axis).sums(); !sums.empty()) fingerprint["collectives"] = std::move(sums);
  }
  fingerprint["precision"] = std::string(enum_name(job.train.precision));
  fingerprint["gradient_dtype"] = std::string(enum_name(job.parallel.gradient_dtype));
  if (!same_bits) fingerprint["micro_batch_tokens"] = job.batch.micro_batch_tokens;
  if (padding_of(job, context) == Padding::Buckets) fingerprint["padding"] = padding_text();
  return fingerprint;
}

std::string fingerprint_differences(const Json& before, const Json& now) {
  const auto text = [](const Json& object, const std::string& name) -> std::string {
    const auto at = object.find(name);
    return at == object.end() ? "not stored" : at->is_string() ? at->get<std::string>() : at->dump();
  };
  Json names = now;
  names.update(before);
  std::vector<std::string> differences;
  for (const auto& [name, value] : names.items()) {
    const std::string was = text(before, name), is = text(now, name);
    if (was != is) differences.push_back(fmt::format("{}: {}, now {}", name, was, is));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

std::string describe_provenance(const Json& provenance) {
  if (!provenance.is_object()) return "";
  const auto text = [](const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string("unknown");
  };
  std::string out = fmt::format("weft {}, revision {}, on {}\n", text(provenance, "version"),
                                text(provenance, "revision"), text(provenance, "host"));
  if (const auto at = provenance.find("imported"); at != provenance.end() && at->is_object()) {
    out += fmt::format("  imported from {}\n", text(*at, "from"));
  }
  if (const auto at = provenance.find("libraries"); at != provenance.end() && at->is_object()) {
    for (const auto& [name, library] : at->items()) {
      if (!library.is_object()) continue;
      out +=
          fmt::format("  {}: compiled with {}, loaded {}\n", name, text(library, "compiled"), text(library, "loaded"));
    }
  }
  if (const auto at = provenance.find("overrides"); at != provenance.end() && at->is_array()) {
    for (const Json& override_text : *at) {
      if (override_text.is_string()) out += fmt::format("  --set {}\n", override_text.get<std::string>());
    }
  }
  if (const auto at = provenance.find("init_from"); at != provenance.end() && at->is_object()) {
    out += fmt::format("  begun from {}, run {}, step {}\n", text(*at, "checkpoint"), text(*at, "run"),
                       at->value("step", int64_t{0}));
  }
  if (provenance.contains("merged_from")) out += fmt::format("  merged from {}\n", text(provenance, "merged_from"));
  if (const auto at = provenance.find("mean_of"); at != provenance.end() && at->is_array()) {
    for (const Json& path : *at) {
      if (path.is_string()) out += fmt::format("  mean of {}\n", path.get<std::string>());
    }
  }
  return out;
}

std::string branch_name(const fs::path& checkpoint) {
  fs::path path = fs::weakly_canonical(fs::absolute(checkpoint));
  if (!path.has_filename()) path = path.parent_path();
  return path.string();
}

std::string branch_of(const Json& provenance) {
  if (!provenance.is_object()) return "";
  const auto name = provenance.find("branch_of");
  return name != provenance.end() && name->is_string() ? name->get<std::string>() : "";
}

}  // namespace weft
