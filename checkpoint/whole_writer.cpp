// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/whole_writer.h"

#include "base/error.h"
#include "checkpoint/part.h"
#include "checkpoint/reader.h"
#include "checkpoint/space.h"

namespace weft {
namespace {

CheckpointFile write_tensors(const fs::path& path, const std::vector<WholeTensor>& tensors,
                             const std::function<void(const WholeTensor&, std::span<float>)>& fill) {
  std::vector<StoredArray> arrays;
  for (const WholeTensor& t : tensors) {
    const Stretch all{.name = t.name,
                      .shape = t.shape,
                      .origin = std::vector<int64_t>(static_cast<size_t>(t.shape.rank()), 0),
                      .extent = t.shape,
                      .end = t.shape.elements()};
    arrays.push_back({.buffer = "master", .stretches = {all}});
  }
  CheckpointPart part(path, std::move(arrays));
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> values(static_cast<size_t>(tensors[i].shape.elements()));
    fill(tensors[i], values);
    part.write(i, std::as_bytes(std::span(values)));
  }
  return part.finish();
}

}  // namespace

void write_whole_checkpoint(const fs::path& out, const CheckpointHeader& header,
                            const std::vector<WholeTensor>& tensors,
                            const std::function<void(const WholeTensor&, std::span<float>)>& fill) {
  require<DataError>(!fs::exists(out), "{}: exists already", out.string());
  int64_t elements = 0;
  for (const WholeTensor& t : tensors) elements += t.shape.elements();
  const fs::path temporary = out.string() + std::string(kUnfinished);
  fs::remove_all(temporary);
  fs::create_directories(temporary);
  try {
    require_space(temporary, checkpoint_bytes(elements, sizeof(float), 1, std::ssize(tensors), 1), "the weights");
    const CheckpointFile part = write_tensors(temporary / part_name(0), tensors, fill);
    write_manifest(temporary, header, {part});
    rename_durably(temporary, out);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace weft
