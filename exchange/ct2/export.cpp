// SPDX-License-Identifier: Apache-2.0
#include "exchange/ct2/export.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/new_directory.h"
#include "exchange/ct2/plan.h"

namespace weft {
namespace {

void write_variables(const Checkpoint& checkpoint, const Ct2Plan& plan, StoredType dtype, const fs::path& path) {
  const std::vector<ExportedTensor>& tensors = plan.stored.tensors;
  Ct2ModelFile file(path, plan.stored.architecture, plan.revision,
                    plan.attributes.size() + plan.tables.size() + tensors.size());
  for (const Ct2Attribute& attribute : plan.attributes) file.write(attribute);
  for (const Ct2Table& table : plan.tables) file.write(table.name, table.shape, dtype, table.values());
  ExportedValues values(checkpoint);
  for (const ExportedTensor& t : tensors) file.write(t.place.name, t.place.shape, dtype, values.of(t));
  file.finish(plan.aliases);
}

}  // namespace

std::string export_ct2(const fs::path& path, const fs::path& out, std::optional<StoredType> dtype,
                       const nlohmann::ordered_json& origin) {
  require_absent(out);
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& manifest = checkpoint.manifest();
  const nlohmann::ordered_json history = {
      {"step", manifest.step}, {"provenance", manifest.provenance}, {"exported", origin}};
  const ModelToExport model = model_of(checkpoint, dtype);
  require_merged(model, "weft merge CHECKPOINT MERGED, then weft export-ct2 MERGED OUT");
  const Ct2Plan plan = plan_ct2(model, history);
  check_complete(checkpoint, plan.stored);
  NewDirectory directory(out);
  for (const auto& [file, text] : plan.stored.files) write_file_atomically(directory.path() / file, text);
  write_variables(checkpoint, plan, model.dtype, directory.path() / plan.stored.weights);
  directory.commit();
  return plan.stored.architecture;
}

}  // namespace weft
