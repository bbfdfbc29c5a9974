// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard_writer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/direct_file.h"
#include "base/error.h"
#include "base/process/huge_pages.h"
#include "data/dataset/shard_structure.h"

namespace weft {

namespace {

std::span<const char> bytes_of(const std::vector<uint64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint64_t)};
}

// The arrays in the order in which HDF5 creates them.
std::vector<PlacedArray> arrays_of(const ShardArrays& arrays, const ShardIdentity& identity) {
  const Hdf5Type type = token_type(identity.token_bytes);
  if (!has_two_sides(identity.kind)) {
    return {{kStreamTokens, type, arrays.source.bytes(), true},
            {kStreamDocuments, Hdf5Type::U64, bytes_of(arrays.source_index), false}};
  }
  std::vector<PlacedArray> placed = {{kSourceTokens, type, arrays.source.bytes(), true},
                                     {kTargetTokens, type, arrays.target.bytes(), true},
                                     {kSourceOffsets, Hdf5Type::U64, bytes_of(arrays.source_index), false},
                                     {kTargetOffsets, Hdf5Type::U64, bytes_of(arrays.target_index), false}};
  if (identity.references) {
    placed.push_back({kReferences, Hdf5Type::U8, arrays.references, false});
    placed.push_back({kReferenceOffsets, Hdf5Type::U64, bytes_of(arrays.reference_index), false});
  }
  return placed;
}

std::vector<uint64_t> block_checksums(std::span<const char> bytes) {
  std::vector<uint64_t> checksums;
  for (size_t at = 0; at < bytes.size(); at += kChecksumBlockBytes) {
    const auto block = bytes.subspan(at, std::min<size_t>(kChecksumBlockBytes, bytes.size() - at));
    checksums.push_back(hash64({block.data(), block.size()}));
  }
  return checksums;
}

// Writes large ranges at any offset by direct I/O, which leaves processors to others (base/direct_file.h).
class PageWriter {
 public:
  explicit PageWriter(const fs::path& path) : file_(path, File::Mode::ReadWrite), direct_(path) {}

  void write(uint64_t offset, std::span<const char> bytes) {
    const size_t head = std::min<uint64_t>(bytes.size(), DirectFile::in_pages(offset) - offset);
    file_.write_at(offset, bytes.data(), head);
    for (size_t at = head; at < bytes.size(); at += kBuffer) {
      const size_t n = std::min(kBuffer, bytes.size() - at);
      std::memcpy(buffer_.get(), bytes.data() + at, n);
      const size_t done = direct_.write_at(offset + at, buffer_.get(), n);
      file_.write_at(offset + at + done, buffer_.get() + done, n - done);
    }
  }
  void sync() { file_.sync(); }

 private:
  static constexpr size_t kBuffer = size_t{4} << 20;  // bytes, a multiple of the page size

  File file_;
  DirectFile direct_;
  const std::unique_ptr<std::byte, decltype(&std::free)> buffer_{
      static_cast<std::byte*>(std::aligned_alloc(DirectFile::kPage, kBuffer)), std::free};
};

}  // namespace

void TokenBuffer::append(std::span<const int32_t> ids) {
  if (token_bytes_ == 4) {
    const auto* bytes = reinterpret_cast<const char*>(ids.data());
    bytes_.insert(bytes_.end(), bytes, bytes + ids.size_bytes());
    return;
  }
  constexpr size_t kAtOnce = 2048;  // in a processor's first cache
  std::array<uint16_t, kAtOnce> narrow;
  for (; !ids.empty(); ids = ids.subspan(std::min(kAtOnce, ids.size()))) {
    const auto some = ids.first(std::min(kAtOnce, ids.size()));
    std::ranges::transform(some, narrow.begin(), [](int32_t id) { return static_cast<uint16_t>(id); });
    const auto* bytes = reinterpret_cast<const char*>(narrow.data());
    bytes_.insert(bytes_.end(), bytes, bytes + 2 * some.size());
  }
}

void TokenBuffer::reserve(int64_t count) {
  bytes_.reserve(static_cast<size_t>(count * token_bytes_));
  advise_huge_pages(bytes_.data(), bytes_.capacity());
}

FullShard::FullShard(const fs::path& path, const ShardIdentity& identity, ShardArrays arrays, ShardEntry& entry)
    : path_(path), arrays_(std::move(arrays)), placed_(arrays_of(arrays_, identity)) {
  entry.source.count = arrays_.source.count();
  entry.target.count = arrays_.target.count();
  entry.references.count = static_cast<int64_t>(arrays_.references.size());
  make_file(identity, entry);
  const bool pairs = has_two_sides(identity.kind);
  place(entry.source, pairs ? kSourceTokens : kStreamTokens, pairs ? kSourceOffsets : kStreamDocuments);
  place(entry.target, kTargetTokens, kTargetOffsets);
  place(entry.references, kReferences, kReferenceOffsets);
  std::ranges::sort(placed_, {}, &PlacedArray::offset);
  const File file(path_, File::Mode::Read);
  entry.bytes = file.size();
  entry.checksum = checksum(file, true);
  entry.structure_checksum = checksum(file, false);
}

// Creates the structure of the file with HDF5, which chooses the offset of each array.
void FullShard::make_file(const ShardIdentity& identity, const ShardEntry& entry) {
  Hdf5File file = Hdf5File::create(path_);
  for (const auto& [name, value] : stated_texts(identity)) file.set_attribute("/", name, std::string_view(value));
  for (const auto& [name, value] : stated_numbers(identity, entry)) file.set_attribute("/", name, value);
  if (has_two_sides(identity.kind)) file.create_group("/source"), file.create_group("/target");
  for (const PlacedArray& array : placed_) {
    const int64_t shape[] = {static_cast<int64_t>(array.bytes.size() / element_bytes(array.type))};
    file.create_array(array.path, array.type, shape);
  }
  for (PlacedArray& array : placed_) array.offset = file.array(array.path).offset;
  file.close();
}

// Completes what the entry states of an array and of its index; a shard may lack both.
void FullShard::place(ShardTokens& tokens, std::string_view array, std::string_view index) const {
  if (const auto at = std::ranges::find(placed_, array, &PlacedArray::path); at != placed_.end()) {
    tokens.offset = at->offset;
    tokens.checksums = block_checksums(at->bytes);
  }
  if (const auto at = std::ranges::find(placed_, index, &PlacedArray::path); at != placed_.end()) {
    tokens.index = at->offset;
  }
}

// Checksum of the finished file: arrays from memory, the rest from disk. See file_checksum(), structure_checksum().
uint64_t FullShard::checksum(const File& file, bool with_tokens) const {
  Hasher hasher;
  uint64_t at = 0;
  for (const PlacedArray& array : placed_) {
    if (array.bytes.empty()) continue;  // HDF5 gives an empty array no offset
    hash_range(file, at, array.offset, hasher);
    if (with_tokens || !array.tokens) hasher.update(array.bytes.data(), array.bytes.size());
    at = array.offset + array.bytes.size();
  }
  hash_range(file, at, file.size(), hasher);
  return hasher.digest();
}

void FullShard::write() const {
  PageWriter file(path_);
  for (const PlacedArray& array : placed_) {
    if (!array.bytes.empty()) file.write(array.offset, array.bytes);
  }
  file.sync();
}

SplitWriter::SplitWriter(fs::path directory, ShardIdentity identity, int64_t shard_tokens)
    : directory_(std::move(directory)),
      identity_(std::move(identity)),
      shard_tokens_(shard_tokens),
      pending_(identity_.token_bytes) {}

SplitWriter::~SplitWriter() {
  if (keep_) return;
  std::error_code ignored;
  for (const ShardEntry& entry : entries_) fs::remove(temporary(entry), ignored);
}

void SplitWriter::add_document(std::span<const int32_t> ids) {
  if (pending_.source.count() == shard_tokens_) close_shard();
  pending_.source_index.push_back(static_cast<uint64_t>(pending_.source.count()));
  continue_document(ids);
}

void SplitWriter::continue_document(std::span<const int32_t> ids) {
  while (!ids.empty()) {
    if (pending_.source.count() == shard_tokens_) close_shard();
    const auto n = std::min(ids.size(), static_cast<size_t>(shard_tokens_ - pending_.source.count()));
    pending_.source.append(ids.first(n));
    ids = ids.subspan(n);
  }
}

void SplitWriter::add_pair(std::span<const int32_t> source, std::span<const int32_t> target,
                           std::string_view reference) {
  const auto tokens = static_cast<int64_t>(source.size() + target.size());
  if (!pending_.empty() && pending_.source.count() + pending_.target.count() + tokens > shard_tokens_) close_shard();
  pending_.source_index.push_back(static_cast<uint64_t>(pending_.source.count()));
  pending_.target_index.push_back(static_cast<uint64_t>(pending_.target.count()));
  pending_.source.append(source);
  pending_.target.append(target);
  if (!identity_.references) return;
  pending_.reference_index.push_back(pending_.references.size());
  pending_.references.insert(pending_.references.end(), reference.begin(), reference.end());
}

std::string SplitWriter::file_name(size_t shard) const {
  return fmt::format("{}-{:05}.h5", enum_name(identity_.split), shard);
}

void SplitWriter::check_names(const std::vector<ShardEntry>& entries) const {
  for (size_t i = 0; i < entries.size(); ++i) {
    require<DataError>(entries[i].file == file_name(i), "shard {} of {} has another name", i,
                       enum_name(identity_.split));
  }
}

void SplitWriter::close_shard() {
  ShardArrays arrays = std::exchange(pending_, ShardArrays(identity_.token_bytes));
  pending_.source.reserve(arrays.source.count());  // the next shard is about as long
  pending_.target.reserve(arrays.target.count());
  ShardEntry entry{.file = file_name(entries_.size()), .records = static_cast<int64_t>(arrays.source_index.size())};
  if (has_two_sides(identity_.kind)) {
    arrays.source_index.push_back(static_cast<uint64_t>(arrays.source.count()));
    arrays.target_index.push_back(static_cast<uint64_t>(arrays.target.count()));
    if (identity_.references) arrays.reference_index.push_back(arrays.references.size());
  }
  const fs::path path = temporary(entry);
  ShardEntry& added = entries_.emplace_back(std::move(entry));  // the destructor removes its file from now on
  full_.emplace_back(path, identity_, std::move(arrays), added);
}

std::vector<ShardEntry> SplitWriter::finish() {
  if (!pending_.empty()) close_shard();
  for (const FullShard& shard : take_full()) shard.write();
  return entries_;
}

}  // namespace weft
