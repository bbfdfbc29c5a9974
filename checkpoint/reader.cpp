// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/reader.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "checkpoint/parts/array_reader.h"
#include "checkpoint/parts/reading_order.h"
#include "data/tokenizer/file_names.h"
#include "kernels/transfer.h"
#include "parallel/agree.h"

namespace weft {

bool is_step_name(std::string_view name) {
  return name.starts_with("step-") && name.size() > 5 &&
         std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

namespace {

constexpr int64_t kUnreadable = std::numeric_limits<int64_t>::max();

}  // namespace

int64_t sequence_of(const fs::path& checkpoint) {
  try {
    const fs::path path = manifest_path(checkpoint);
    const auto manifest = parse_json<nlohmann::ordered_json>(read_file(path), path.string());
    return integer_or<int64_t>(manifest.at("weft_checkpoint"), "sequence", 0);
  } catch (const std::exception&) {
    return kUnreadable;
  }
}

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

namespace {

std::string manifest_text_in(const fs::path& directory) {
  require<DataError>(fs::is_directory(directory), "{}: no such checkpoint directory", directory.string());
  return read_manifest_text(directory);
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  Checkpoint checkpoint(path, parse_checkpoint_manifest(manifest_text_in(path), manifest_path(path)));
  check_files(path, checkpoint.manifest_);
  return checkpoint;
}

Checkpoint Checkpoint::open(const fs::path& path, Communicator& world) {
  const std::string text = agree(world, [&] { return manifest_text_in(path); });
  Checkpoint checkpoint(path, parse_checkpoint_manifest(text, manifest_path(path)));
  agree(world, [&] {
    check_files(path, checkpoint.manifest_);
    return std::string();
  });
  return checkpoint;
}

Tensor Checkpoint::read_whole(Context& context, const std::string& name, const Shape& shape) const {
  const std::vector<int64_t> origin(static_cast<size_t>(shape.rank()), 0);
  const TensorBox whole{kMasterBuffer, name, shape, origin, context.empty(shape, DType::F32)};
  read(context, {whole});
  return whole.data;
}

CheckpointTokenizers Checkpoint::tokenizers() const {
  const auto load = [&](const char* name) {
    return Tokenizer::from_json(read_attachment(path_, manifest_, name), (path_ / name).string());
  };
  return {.source = load(kSourceTokenizerFile), .target = load(kTargetTokenizerFile)};
}

std::vector<std::pair<std::string, Shape>> Checkpoint::tensors(const std::string& buffer) const {
  std::map<std::string, Shape> found;
  for (const CheckpointFile& file : manifest_.files) {
    const auto index = read_index(path_, file);
    for (const StoredArray& array : index->arrays) {
      if (array.buffer != buffer) continue;
      for (const Stretch& stretch : array.stretches) found[stretch.name] = stretch.shape;
    }
  }
  return {found.begin(), found.end()};
}

namespace {

// A box being read: its memory is filled if that is on the host, or else a copy, which is uploaded once complete.
class Filling {
 public:
  Filling(Context& context, const TensorBox& box) : context_(context), box_(box) {}
  const TensorBox& box() const { return box_; }
  int64_t filled() const { return filled_; }
  bool full() const { return filled_ == box_.data.elements(); }

  void take(const std::byte* bytes, const Box& from) {
    const bool here = box_.data.device().kind == DeviceKind::Cpu;
    if (!here && staged_.empty()) staged_.resize(box_.data.bytes());
    filled_ += copy_overlap(bytes, from.origin, from.extent, box_, here ? box_.data.raw() : staged_.data());
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

// The boxes being read, indexed by tensor.
class Wanted {
 public:
  Wanted(Context& context, const std::vector<TensorBox>& boxes) {
    fillings_.reserve(boxes.size());
    for (const TensorBox& box : boxes) {
      by_tensor_[{box.buffer, box.name}].push_back(&fillings_.emplace_back(context, box));
    }
  }
  const std::vector<Filling>& fillings() const { return fillings_; }
  bool all_full() const { return std::ranges::all_of(fillings_, &Filling::full); }

  // Calls work(filling) for every box that overlaps a box of a stretch, until it returns true. True if one call did.
  template <class Do>
  bool any(const std::string& buffer, const Stretch& of, const Box& box, const Do& work) {
    const auto at = by_tensor_.find({buffer, of.name});
    if (at == by_tensor_.end()) return false;
    return std::ranges::any_of(at->second, [&](Filling* filling) {
      return overlaps(box.origin, box.extent, filling->box()) && work(*filling);
    });
  }

  // True if the array holds a part of a wanted tensor. DataError if their shapes or dtypes differ.
  bool in(const StoredArray& array, const fs::path& checkpoint) const {
    bool any = false;
    for (const Stretch& s : array.stretches) {
      const auto at = by_tensor_.find({array.buffer, s.name});
      if (at == by_tensor_.end()) continue;
      const TensorBox& box = at->second.front()->box();
      require<DataError>(s.shape == box.shape && array.dtype == box.data.dtype(),
                         "{}: {} is {}{} in the checkpoint and {}{} in the model", checkpoint.string(), s.name,
                         name(array.dtype), s.shape, name(box.data.dtype()), box.shape);
      any = true;
    }
    return any;
  }

 private:
  std::vector<Filling> fillings_;
  std::map<std::pair<std::string, std::string>, std::vector<Filling*>> by_tensor_;
};

}  // namespace

Checkpoint::Read Checkpoint::read(Context& context, const std::vector<TensorBox>& boxes,
                                  const std::function<void()>& on_progress, const Mesh* mesh) const {
  await_snapshots(context);
  Wanted wanted(context, boxes);
  Read read;
  for (const size_t i : reading_order(manifest_, mesh)) {
    if (wanted.all_full()) break;
    const CheckpointFile& stored = manifest_.files[i];
    const File file(path_ / stored.name, File::Mode::Read);
    const auto index = read_index(file, stored);
    ++read.files;
    for (const StoredArray& array : index->arrays) {
      if (!wanted.in(array, path_)) continue;
      const NeedBox needs = [&](const Stretch& of, const Box& box) {
        return wanted.any(array.buffer, of, box, [](const Filling&) { return true; });
      };
      const UseBox use = [&](const Stretch& of, const Box& box, const std::byte* bytes) {
        wanted.any(array.buffer, of, box, [&](Filling& filling) {
          filling.take(bytes, box);
          return false;
        });
      };
      read.bytes += read_array(file, array, index->block_bytes, needs, use, on_progress);
    }
  }
  for (const Filling& filling : wanted.fillings()) {
    const TensorBox& box = filling.box();
    require<DataError>(filling.full(), "{}: {} of {} has {} of {} elements in the checkpoint", path_.string(),
                       box.buffer, box.name, filling.filled(), box.data.elements());
  }
  return read;
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
