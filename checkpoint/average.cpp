// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/average.h"

#include "base/error.h"
#include "base/files/new_directory.h"
#include "checkpoint/attachments.h"
#include "checkpoint/locate.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"
#include "checkpoint/whole_writer.h"

namespace weft {

std::vector<fs::path> checkpoints_to_average(const std::vector<fs::path>& paths, int64_t last_epochs) {
  std::vector<fs::path> found;
  for (const fs::path& path : paths) {
    require<DataError>(fs::is_directory(path), "{}: no such directory", path.string());
    if (has_manifest(path)) {
      found.push_back(path);
      continue;
    }
    std::vector<fs::path> here;
    for (const fs::path& candidate : checkpoints_at(path)) {
      const bool epoch_end = run_state_of(read_checkpoint_manifest(candidate), candidate).epoch_end;
      if (last_epochs == 0 || epoch_end) here.push_back(candidate);
    }
    if (last_epochs > 0 && static_cast<int64_t>(here.size()) > last_epochs) {
      here.erase(here.begin(), here.end() - last_epochs);
    }
    if (here.empty())
      throw DataError(fmt::format("{}: no checkpoint to average here", path.string()),
                      "train with checkpoint.every_epochs: 1 and checkpoint.keep_epochs: K");
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

namespace {

// A mean is meaningful only over checkpoints with the same tensors and the same meaning of token ids.
void check_same_model(const Checkpoint& one, const Checkpoint& other) {
  const auto text = [](const Checkpoint& c) { return c.path().string(); };
  require<DataError>(one.tensors() == other.tensors(),
                     "{} and {} hold different models: their tensors or shapes differ", text(one), text(other));
  const auto hashes = [](const Checkpoint& c) {
    std::vector<uint64_t> all;
    for (const CheckpointAttachment& a : c.manifest().attachments) {
      if (a.name != kAlgorithmsAttachment) all.push_back(a.hash);
    }
    return all;
  };
  require<DataError>(hashes(one) == hashes(other), "{} and {} were trained with different tokenizers", text(one),
                     text(other));
}

void fill_with_mean(const std::vector<Checkpoint>& all, const WholeTensor& tensor, std::span<float> mean) {
  Context context;
  std::vector<double> sum(mean.size(), 0);
  for (const Checkpoint& checkpoint : all) {
    const Tensor one = checkpoint.read_whole(context, tensor.name, tensor.shape);
    const float* x = one.data<float>();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
  }
  for (size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / static_cast<double>(all.size()));
}

}  // namespace

void average_checkpoints(const std::vector<fs::path>& paths, const fs::path& out) {
  require<ConfigError>(!paths.empty(), "no checkpoint to average");
  require_absent(out);
  std::vector<Checkpoint> all;
  for (const fs::path& path : paths) all.push_back(Checkpoint::open(path));
  const Checkpoint& last = all.back();
  for (const Checkpoint& one : all) check_same_model(one, last);
  CheckpointHeader header = header_of(last.path(), last.manifest());
  for (const fs::path& path : paths) header.provenance["mean_of"].push_back(path.string());
  std::vector<WholeTensor> tensors;
  for (const auto& [name, shape] : last.tensors()) tensors.push_back({name, shape});
  write_whole_checkpoint(out, header, tensors,
                         [&](const WholeTensor& tensor, std::span<float> mean) { fill_with_mean(all, tensor, mean); });
}

}  // namespace weft
