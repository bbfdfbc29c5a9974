// SPDX-License-Identifier: Apache-2.0
#include "job/merge.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"
#include "checkpoint/reader.h"
#include "checkpoint/whole_writer.h"
#include "job/migration.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/matmul.h"
#include "kernels/transfer.h"
#include "model/layers/lora.h"

namespace weft {
namespace {

class Merge {
 public:
  Merge(const Checkpoint& checkpoint, const LoraConfig& lora) : checkpoint_(checkpoint), scale_(lora.scale()) {
    for (const auto& [name, shape] : checkpoint.tensors()) shapes_.emplace(name, shape);
    for (const auto& [name, shape] : shapes_) {
      if (!is_adapter(name)) merged_.push_back({.name = name, .shape = shape});
    }
  }
  const std::vector<WholeTensor>& merged() const { return merged_; }

  // Fills in the tensor's values, with the product of its adapter added if it has one.
  void fill(const WholeTensor& tensor, std::span<float> values) {
    const Tensor weight = read(tensor.name, tensor.shape);
    const std::string product(std::string_view(tensor.name).substr(0, tensor.name.rfind('.')));
    const auto a_shape = shapes_.find(product + std::string(kLoraA));
    if (tensor.name.ends_with(".weight") && a_shape != shapes_.end()) {
      const auto b_shape = shapes_.find(product + std::string(kLoraB));
      require<DataError>(b_shape != shapes_.end(), "{}: {} has no partner", checkpoint_.path().string(),
                         a_shape->first);
      add_adapter(weight, read(a_shape->first, a_shape->second), read(b_shape->first, b_shape->second), product);
    }
    download(context_, weight, values);
  }

 private:
  void add_adapter(const Tensor& weight, const Tensor& a, const Tensor& b, const std::string& product) {
    const bool fits =
        b.columns() == a.rows() && weight.columns() == a.columns() && weight.rows() == b.rows() && a.rows() > 0;
    require<DataError>(fits, "{}: adapters {} and {} do not fit the weight {} of {}", checkpoint_.path().string(),
                       a.shape(), b.shape(), weight.shape(), product);
    const Tensor sum = context_.empty({b.rows(), a.columns()}, DType::F32);
    matmul(context_, {.a = b, .b = a, .c = sum});
    add_scaled(context_, sum.view(weight.shape()), scale_, weight);
  }
  Tensor read(const std::string& name, const Shape& shape) { return checkpoint_.read_whole(context_, name, shape); }

  const Checkpoint& checkpoint_;
  double scale_;
  Context context_;
  std::map<std::string, Shape> shapes_;
  std::vector<WholeTensor> merged_;
};

}  // namespace

void merge_adapters(const fs::path& path, const fs::path& out) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& manifest = checkpoint.manifest();
  JobConfig job = parse_stored_job(manifest.job, manifest_path(path).string());
  if (!job.lora.active()) throw ConfigError(fmt::format("{}: there are no adapters to merge", path.string()));
  Merge merge(checkpoint, job.lora);
  job.lora = {};
  CheckpointHeader header = header_of(path, manifest);
  header.job = to_yaml(job);
  header.provenance["merged_from"] = path.string();
  write_whole_checkpoint(out, header, merge.merged(),
                         [&](const WholeTensor& tensor, std::span<float> values) { merge.fill(tensor, values); });
}

}  // namespace weft
