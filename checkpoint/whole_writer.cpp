// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/whole_writer.h"

#include "base/files/new_directory.h"
#include "checkpoint/parts/part.h"
#include "checkpoint/space.h"

namespace weft {
namespace {

WrittenParts write_tensors(const fs::path& path, const CheckpointHeader& header,
                           const std::vector<WholeTensor>& tensors,
                           const std::function<void(const WholeTensor&, std::span<float>)>& fill) {
  std::vector<StoredArray> arrays;
  for (const WholeTensor& t : tensors) {
    const Stretch all{.name = t.name,
                      .shape = t.shape,
                      .origin = std::vector<int64_t>(static_cast<size_t>(t.shape.rank()), 0),
                      .extent = t.shape,
                      .end = t.shape.elements()};
    arrays.push_back({.buffer = kMasterBuffer, .stretches = {all}});
  }
  CheckpointPart part(path, std::move(arrays));
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> values(static_cast<size_t>(tensors[i].shape.elements()));
    fill(tensors[i], values);
    part.write(i, std::as_bytes(std::span(values)));
  }
  return written_parts(header, {part.finish()}, part.digest());
}

}  // namespace

void write_whole_checkpoint(const fs::path& out, const CheckpointHeader& header,
                            const std::vector<WholeTensor>& tensors,
                            const std::function<void(const WholeTensor&, std::span<float>)>& fill) {
  NewDirectory directory(out);
  int64_t elements = 0;
  for (const WholeTensor& t : tensors) elements += t.shape.elements();
  require_space(directory.path(), checkpoint_bytes(elements, sizeof(float), 1, std::ssize(tensors), 1),
                "the weights of " + out.string());
  write_manifest(directory.path(), header, write_tensors(directory.path() / part_name(0), header, tensors, fill));
  directory.commit();
}

}  // namespace weft
