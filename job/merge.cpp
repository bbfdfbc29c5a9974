#include "job/merge.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"
#include "checkpoint/reader.h"
#include "checkpoint/whole_writer.h"
#include "job/migration.h"
#include "model/lora.h"

namespace weft {
namespace {

class Merge {
 public:
  Merge(const Checkpoint& checkpoint, const LoraConfig& lora) : checkpoint_(checkpoint), scale_(lora.scale()) {
    for (const auto& [name, shape] : checkpoint.tensors("master")) shapes_.emplace(name, shape);
    for (const auto& [name, shape] : shapes_) {
      if (!is_adapter(name)) merged_.push_back({.name = name, .shape = shape});
    }
  }
  const std::vector<WholeTensor>& merged() const { return merged_; }

  // The tensor's values, with what its adapter adds.
  void fill(const WholeTensor& tensor, std::span<float> values) {
    const Tensor weight = read(tensor.name, tensor.shape);
    std::copy_n(weight.data<float>(), values.size(), values.begin());
    const std::string product(std::string_view(tensor.name).substr(0, tensor.name.rfind('.')));
    const auto a_shape = shapes_.find(product + std::string(kLoraA)),
               b_shape = shapes_.find(product + std::string(kLoraB));
    if (!tensor.name.ends_with(".weight") || a_shape == shapes_.end()) return;
    require<DataError>(b_shape != shapes_.end(), "{}: {} has no partner", checkpoint_.path().string(), a_shape->first);
    const Tensor a = read(a_shape->first, a_shape->second), b = read(b_shape->first, b_shape->second);
    const int64_t rank = a.rows(), in = a.columns(), out = b.rows();
    require<DataError>(b.columns() == rank && weight.columns() == in && weight.rows() == out,
                       "{}: adapters {} and {} do not fit {} {}", checkpoint_.path().string(), a_shape->second,
                       b_shape->second, tensor.name, tensor.shape);
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        double sum = 0;
        for (int64_t r = 0; r < rank; ++r) {
          sum += static_cast<double>(b.data<float>()[o * rank + r]) * static_cast<double>(a.data<float>()[r * in + i]);
        }
        values[o * in + i] = static_cast<float>(values[o * in + i] + scale_ * sum);
      }
    }
  }

 private:
  Tensor read(const std::string& name, const Shape& shape) {
    const std::vector<int64_t> origin(static_cast<size_t>(shape.rank()), 0);
    const TensorBox box{"master", name, shape, origin, context_.empty(shape, DType::F32)};
    checkpoint_.read(context_, {box});
    return box.data;
  }

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
  CheckpointHeader header{.step = manifest.step,
                          .sequence = manifest.sequence,
                          .attempt = manifest.attempt,
                          .state = manifest.state,
                          .job = to_yaml(job),
                          .fingerprint = manifest.fingerprint,
                          .provenance = manifest.provenance};
  header.provenance["merged_from"] = path.string();
  for (const CheckpointAttachment& a : manifest.attachments) {
    header.attachments.emplace_back(a.name, read_attachment(path, manifest, a.name));
  }
  write_whole_checkpoint(out, header, merge.merged(),
                         [&](const WholeTensor& tensor, std::span<float> values) { merge.fill(tensor, values); });
}

}  // namespace weft
