// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/reader.h"
#include "checkpoint/safetensors/safetensors.h"
#include "data/tokenizer/tokenizer.h"
#include "exchange/stored_place.h"
#include "job/job.h"

namespace weft {

// A checkpoint's model, as its manifest describes it.
struct ModelToExport {
  std::string where;  // the checkpoint, for messages
  JobConfig job;
  std::shared_ptr<const Tokenizer> source_tokenizer, target_tokenizer;
  StoredType dtype = StoredType::F32;
};

// An exported tensor and its source in weft. If the source `may_be_absent` and the checkpoint lacks it, zeros result.
struct ExportedTensor {
  StoredPlace place;
  std::string ours;
  Shape shape;  // the shape of `ours`
  bool may_be_absent = false;
};

struct ExportPlan {
  std::string architecture;
  std::string weights = "model.safetensors";
  bool adapters_alone = false;               // false: every tensor of the checkpoint must have a place
  std::map<std::string, std::string> files;  // contents by file name
  std::vector<ExportedTensor> tensors;
};

// Adds the places of a parameter, of which biases may be absent. InternalError if there are none.
void add_parameter(ExportPlan& plan, const std::string& name, const Shape& shape, std::vector<StoredPlace> places);

// What a checkpoint says of its model. `dtype`: nullopt: BF16 if it was imported in BF16 and not trained since, else
// F32.
ModelToExport model_of(const Checkpoint& checkpoint, std::optional<StoredType> dtype);
// ConfigError with `hint` if the job trains adapters that are not merged with the weights.
void require_merged(const ModelToExport& model, const std::string& hint);
// DataError unless every tensor of the checkpoint has a place in the export, and every exported tensor a source.
void check_complete(const Checkpoint& checkpoint, const ExportPlan& plan);

// The values of exported tensors, read from a checkpoint one after another. A parameter that becomes several tensors is
// read once if these follow each other; no other one is held.
class ExportedValues {
 public:
  explicit ExportedValues(const Checkpoint& checkpoint);
  std::vector<float> of(const ExportedTensor& tensor);

 private:
  const Checkpoint& checkpoint_;
  std::set<std::string> stored_;
  std::string held_;  // whose values `ours_` has
  std::vector<float> ours_;
};

ExportPlan plan_decoder(const ModelToExport& model);
ExportPlan plan_adapter(const ModelToExport& model);
ExportPlan plan_marian(const ModelToExport& model);
ExportPlan plan_own_layout(const ModelToExport& model);
// "model.norm_placement: it has post, not pre": why a translation model is not a MarianMT; nullopt if it is one.
std::optional<std::string> why_not_marian(const ModelToExport& model);

}  // namespace weft
