// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/checkpoint_fuzz.h"

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/manifest.h"
#include "checkpoint/run_state.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {
namespace {

using Json = nlohmann::ordered_json;

// The manifest with the checksum that its reader requires, which no fuzzer finds.
std::string manifest_of(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return std::string(body);
  return Json{{"weft_checkpoint", json},
              {"hash", hash_hex(hash64(json.dump(-1, ' ', false, Json::error_handler_t::replace)))}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool reads_manifest(std::string_view body) {
  try {
    const CheckpointManifest manifest = parse_checkpoint_manifest(manifest_of(body), "manifest.json");
    parse_checkpoint_manifest(checkpoint_manifest_text({.state = manifest.state, .files = {}}), "manifest.json");
    return true;
  } catch (const DataError&) {
    return false;
  }
}

// An index that is accepted describes arrays inside the file, and is written as it was read.
bool reads_index(std::string_view text) {
  constexpr uint64_t kFileBytes = 1 << 20;
  try {
    const PartIndex index = parse_index(text, kFileBytes);
    for (const StoredArray& array : index.arrays) {
      require<InternalError>(array.offset + array.bytes() <= kFileBytes, "an array leaves the file");
      for (const Stretch& stretch : array.stretches) {
        int64_t elements = 0;
        for (const Box& box : boxes_of(stretch, 0, stretch.elements())) {
          elements += box.extent.elements();
          for (int d = 0; d < stretch.shape.rank(); ++d) {
            const bool inside = box.origin[d] >= 0 && box.origin[d] + box.extent[d] <= stretch.shape[d];
            require<InternalError>(inside, "a box leaves its tensor");
          }
        }
        require<InternalError>(elements == stretch.elements(), "boxes are not all of a stretch");
      }
    }
    const std::string again = index_text(index);
    require<InternalError>(index_text(parse_index(again, kFileBytes)) == again, "an index is not read as written");
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

bool reads_checkpoint(std::span<const uint8_t> bytes) {
  const std::string_view text = text_of(bytes);
  const bool manifest = reads_manifest(text), index = reads_index(text);
  return manifest || index;
}

bool reads_run_state(std::span<const uint8_t> bytes) {
  const Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (json.is_discarded()) return false;
  RunState state;
  try {
    state = run_state_from(json, "manifest.json");
  } catch (const DataError&) {
    return false;
  }
  require<InternalError>(run_state_from(to_json(state), "again") == state, "a state is not read as it is written");
  return true;
}

}  // namespace weft::test
