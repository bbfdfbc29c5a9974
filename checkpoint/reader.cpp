#include "checkpoint/reader.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/slice_reader.h"
#include "kernels/transfer.h"

namespace weft {

bool is_step_name(std::string_view name) {
  return name.starts_with("step-") && name.size() > 5 &&
         std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

namespace {

constexpr int64_t kUnreadable = std::numeric_limits<int64_t>::max();

// Of the order alone: what else the manifest says is not checked.
int64_t sequence_of(const fs::path& checkpoint) {
  try {
    const auto manifest = nlohmann::ordered_json::parse(read_file(manifest_path(checkpoint)));
    return manifest.at("weft_checkpoint").value("sequence", int64_t{0});
  } catch (const std::exception&) {
    return kUnreadable;
  }
}

}  // namespace

std::vector<fs::path> committed_directories(const fs::path& directory) {
  std::vector<fs::path> found;
  if (!fs::is_directory(directory)) return found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (is_step_name(entry.path().filename().string()) && has_manifest(entry.path())) found.push_back(entry.path());
  }
  return found;
}

SaveOrder save_order(int64_t sequence, const fs::path& checkpoint) {
  const std::string name = checkpoint.filename();
  return {sequence, name.size(), name};
}

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  std::vector<std::pair<SaveOrder, fs::path>> found;
  for (const fs::path& path : committed_directories(directory)) {
    found.emplace_back(save_order(sequence_of(path), path), path);
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [order, path] : found) paths.push_back(std::move(path));
  return paths;
}

int64_t next_sequence(const fs::path& directory) {
  int64_t last = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!entry.path().filename().string().starts_with("step-")) continue;
    const int64_t sequence = sequence_of(entry.path());
    if (sequence != kUnreadable) last = std::max(last, sequence);
  }
  return last + 1;
}

Checkpoint Checkpoint::open(const fs::path& path) {
  require<DataError>(fs::is_directory(path), "{}: no such checkpoint directory", path.string());
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  checkpoint.manifest_ = read_checkpoint_manifest(path);
  return checkpoint;
}

Tensor Checkpoint::read_whole(Context& context, const std::string& name, const Shape& shape) const {
  const std::vector<int64_t> origin(static_cast<size_t>(shape.rank()), 0);
  const TensorBox whole{"master", name, shape, origin, context.empty(shape, DType::F32)};
  read(context, {whole});
  return whole.data;
}

std::vector<std::pair<std::string, Shape>> Checkpoint::tensors(const std::string& buffer) const {
  std::map<std::string, Shape> found;
  for (const CheckpointFile& file : manifest_.files) {
    for (const CheckpointSlice& s : file.slices) {
      if (s.buffer == buffer) found[s.name] = s.shape;
    }
  }
  return {found.begin(), found.end()};
}

namespace {

// A box being read: into its own memory if that is the host's, else into a copy that goes to the device when it is
// whole.
class Filling {
 public:
  Filling(Context& context, const TensorBox& box) : context_(context), box_(box) {}
  const TensorBox& box() const { return box_; }
  int64_t filled() const { return filled_; }

  void take(const std::byte* bytes, const std::vector<int64_t>& origin, const Shape& extent) {
    const bool here = box_.data.device().kind == DeviceKind::Cpu;
    if (!here && staged_.empty()) staged_.resize(box_.data.bytes());
    filled_ += copy_overlap(bytes, origin, extent, box_, here ? box_.data.raw() : staged_.data());
    if (here || filled_ < box_.data.elements()) return;
    upload_bytes(context_, staged_, box_.data);
    staged_ = {};
  }

 private:
  Context& context_;
  const TensorBox& box_;
  int64_t filled_ = 0;
  std::vector<std::byte> staged_;
};

}  // namespace

uint64_t Checkpoint::read(Context& context, const std::vector<TensorBox>& boxes,
                          const std::function<void()>& on_progress) const {
  await_snapshots(context);
  std::vector<Filling> fillings;
  fillings.reserve(boxes.size());
  std::map<std::pair<std::string, std::string>, std::vector<Filling*>> wanted;
  for (const TensorBox& box : boxes) wanted[{box.buffer, box.name}].push_back(&fillings.emplace_back(context, box));
  uint64_t bytes_read = 0;
  for (const CheckpointFile& stored : manifest_.files) {
    std::optional<File> file;  // opened if something in it is needed
    for (const CheckpointSlice& s : stored.slices) {
      const auto at = wanted.find({s.buffer, s.name});
      if (at == wanted.end()) continue;
      std::vector<Filling*> needing;
      for (Filling* filling : at->second) {
        const TensorBox& box = filling->box();
        require<DataError>(s.shape == box.shape && s.dtype == box.data.dtype(),
                           "{}: {} is {}{} in the checkpoint and {}{} in the model", path_.string(), s.name,
                           name(s.dtype), s.shape, name(box.data.dtype()), box.shape);
        if (overlaps(s.origin, s.extent, box)) needing.push_back(filling);
      }
      if (needing.empty()) continue;
      if (!file) file.emplace(path_ / stored.name, File::Mode::Read);
      bytes_read +=
          read_slice(*file, s, [&](const std::byte* bytes, const std::vector<int64_t>& origin, const Shape& extent) {
            for (Filling* filling : needing) filling->take(bytes, origin, extent);
            if (on_progress) on_progress();
          });
    }
  }
  for (const Filling& filling : fillings) {
    const TensorBox& box = filling.box();
    require<DataError>(filling.filled() == box.data.elements(), "{}: {} of {} has {} of {} elements in the checkpoint",
                       path_.string(), box.buffer, box.name, filling.filled(), box.data.elements());
  }
  return bytes_read;
}

std::optional<Checkpoint> latest_valid(const fs::path& directory, const std::function<void()>& on_progress) {
  auto candidates = list_checkpoints(directory);
  std::ranges::reverse(candidates);
  for (const fs::path& path : candidates) {
    try {
      Checkpoint checkpoint = Checkpoint::open(path);
      verify_checkpoint(path, checkpoint.manifest(), on_progress);
      return checkpoint;
    } catch (const DataError& error) {
      log_warning("{} is passed over: {}", path.string(), error.what());
    }
  }
  return std::nullopt;
}

}  // namespace weft
