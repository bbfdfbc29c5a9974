// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/direct_file.h"
#include "base/error.h"
#include "base/log.h"
#include "checkpoint/parts/part.h"
#include "parallel/agree.h"
#include "parallel/halves.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

CheckpointWriter::CheckpointWriter(fs::path directory, Context& context, Communicator& world,
                                   std::chrono::milliseconds patience)
    : directory_(std::move(directory)),
      context_(context),
      world_(world),
      host_(std::make_shared<MemoryPool>(snapshot_memory(context))),
      patience_(patience) {}

CheckpointWriter::~CheckpointWriter() { cancelled_ = true; }

// One block holds all copies, since pinned memory is slow to allocate. Its pages are touched here, so that a system
// without enough of them fails now.
void CheckpointWriter::reserve(std::span<const OwnedArray> owned) {
  const uint64_t bytes = bytes_in_pages(owned);
  if (memory_ && bytes <= part_bytes_) return;
  memory_.reset();
  memory_ = host_->allocate(bytes);
  digest_memory_ = host_->allocate(sizeof(uint64_t));
  part_bytes_ = bytes;
  constexpr uint64_t kPiece = uint64_t{64} << 20;
  for (uint64_t at = 0; at < bytes; at += kPiece) {
    std::memset(memory() + at, 0, std::min(kPiece, bytes - at));
    context_.note_progress();
  }
}

std::byte* CheckpointWriter::memory() const { return Tensor(memory_, 0, {0}, DType::F32).raw(); }

std::span<std::byte> CheckpointWriter::copied_digest() const {
  return {Tensor(digest_memory_, 0, {1}, DType::I64).raw(), sizeof(uint64_t)};
}

void CheckpointWriter::start(CheckpointHeader header, const std::vector<OwnedArray>& owned,
                             std::function<void()> after_commit) {
  require<InternalError>(!busy(), "a save is under way");
  const auto began = Clock::now();
  reserve(owned);
  copy(owned);
  header_ = std::move(header);
  after_commit_ = std::move(after_commit);
  cancelled_ = false;
  phase_ = Phase::Writing;
  job_.start([this, began, directory = temporary()] { work([&] { write_part(directory, began); }, directory); });
}

// What is to be copied has its digest taken where it lies, before: neither the memory of the copies nor a change of the
// arrays before they are copied can put other bits into a checkpoint.
void CheckpointWriter::copy(std::span<const OwnedArray> owned) {
  arrays_ = stored_arrays(owned);
  copies_.clear();
  digest_.emplace(context_);
  std::vector<Tensor> from;
  std::vector<std::span<std::byte>> to;
  std::byte* begin = memory();
  for (const OwnedArray& array : owned) {
    std::byte* next = begin;
    begin += DirectFile::in_pages(array.bytes());
    for (const OwnedArray::Piece& piece : array.pieces) {
      from.push_back(piece.data);
      to.emplace_back(next, piece.data.bytes());
      digest_->add(piece.data, copies_.size());
      copies_.push_back({.bytes = to.back(), .dtype = piece.data.dtype()});
      next += piece.data.bytes();
    }
  }
  from.push_back(digest_->sum());
  to.push_back(copied_digest());
  snapshot_ = std::make_unique<Snapshot>(context_, from, to);
}

// The needed and the free bytes, for a save that may have failed for lack of space.
std::string CheckpointWriter::space_text(const fs::path& directory) const {
  std::error_code error;
  const auto space = fs::space(fs::exists(directory, error) ? directory : directory.parent_path(), error);
  return fmt::format("\n  this rank's part needs {} bytes; {} bytes are free in {}",
                     std::accumulate(arrays_.begin(), arrays_.end(), uint64_t{0},
                                     [](uint64_t sum, const StoredArray& array) { return sum + array.bytes(); }),
                     error ? error.message() : fmt::format("{}", space.available), directory.string());
}

// Errors of the job name this rank and its host for the reader of the log.
void CheckpointWriter::work(const std::function<void()>& body, const fs::path& directory) {
  try {
    body();
  } catch (const Cancelled&) {
  } catch (const std::exception& error) {
    const std::string what =
        fmt::format("rank {} on {}: {}{}", world_.rank(), host_name(), describe(error), space_text(directory));
    if (dynamic_cast<const IoError*>(&error)) throw IoError(what);
    throw DataError(what);
  }
}

// Called between two pieces of work.
void CheckpointWriter::look_around() {
  context_.note_progress();
  ++pieces_;
  if (cancelled_) throw Cancelled();
}

void CheckpointWriter::compare_copies() {
  constexpr size_t kPiece = size_t{64} << 20;
  uint64_t of_state = 0, of_copies = 0;
  std::memcpy(&of_state, copied_digest().data(), sizeof of_state);
  for (size_t i = 0; i < copies_.size(); ++i) {
    const auto& [bytes, dtype] = copies_[i];
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      const std::span<const std::byte> piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
      of_copies += digest_of(piece, dtype, i, at / size_of(dtype));
      look_around();
    }
  }
  if (of_copies == of_state) return;
  throw DataError("the copy of the state that was to be saved has other bits than the state: memory has changed them",
                  "the checkpoint is not written; if it happens again, test that computer's memory");
}

// Every rank makes the directory unless another already has.
void CheckpointWriter::write_part(const fs::path& directory, Clock::time_point began) {
  create_directories_durably(directory);
  look_around();
  CheckpointPart part(directory / part_name(world_.rank()), arrays_, [this] { look_around(); });
  {
    const HostSpan traced(context_.trace(), SpanKind::Save, "copy");
    snapshot_->wait();
  }
  const HostSpan traced(context_.trace(), SpanKind::Save, "write");
  part_.copy_seconds = seconds_since(began);
  const auto copied = Clock::now();
  look_around();
  compare_copies();
  const std::byte* from = memory();
  for (size_t i = 0; i < arrays_.size(); ++i) {
    part.write(i, {from, arrays_[i].bytes()});
    from += DirectFile::in_pages(arrays_[i].bytes());
  }
  part_.file = part.finish();
  sync_directory(directory);
  part_.digest = part.digest();
  part_.write_seconds = seconds_since(copied);
}

SaveStates CheckpointWriter::states() const {
  if (!busy() || (phase_ == Phase::Committing && world_.rank() != 0) || !job_.ended()) return {};
  if (job_.failed()) return {.failed = 1};
  return phase_ == Phase::Writing ? SaveStates{.written = 1} : SaveStates{.committed = 1};
}

std::optional<SavedCheckpoint> CheckpointWriter::advance(const SaveStates& sums) {
  if (!busy()) return std::nullopt;
  if (sums.failed > 0) fail();
  if (phase_ == Phase::Writing && sums.written == world_.size()) {
    begin_commit();
  } else if (phase_ == Phase::Committing && sums.committed > 0) {
    saved_.path = target();
    end();
    return saved_;
  }
  return std::nullopt;
}

// Gathers 96 bytes per rank.
std::vector<CheckpointWriter::Part> CheckpointWriter::gather_parts() const {
  const CheckpointFile& file = part_.file;
  std::vector<double> mine;
  for (const uint64_t value : {file.bytes, file.index.offset, file.index.bytes, file.index.hash, part_.digest}) {
    for (const double half : halves(value)) mine.push_back(half);
  }
  mine.insert(mine.end(), {part_.copy_seconds, part_.write_seconds});
  const std::vector<double> all = world_.gather_host(mine);
  std::vector<Part> parts;
  for (size_t at = 0; at < all.size(); at += mine.size()) {
    const double* its = &all[at];
    parts.push_back({.file = {.name = part_name(static_cast<int>(parts.size())),
                              .bytes = from_halves(its),
                              .index = {from_halves(its + 2), from_halves(its + 4), from_halves(its + 6)}},
                     .digest = from_halves(its + 8),
                     .copy_seconds = its[10],
                     .write_seconds = its[11]});
  }
  return parts;
}

void CheckpointWriter::begin_commit() {
  snapshot_.reset();
  std::vector<Part> parts = gather_parts();
  phase_ = Phase::Committing;
  if (world_.rank() != 0) return;
  job_.start([this, parts = std::move(parts), directory = temporary()] { work([&] { commit(parts); }, directory); });
}

void CheckpointWriter::commit(std::vector<Part> parts) {
  const auto began = Clock::now();
  const HostSpan traced(context_.trace(), SpanKind::Save, "commit");
  saved_ = {};
  std::vector<CheckpointFile> files;
  uint64_t digest = 0;
  for (Part& part : parts) {
    digest += part.digest;
    saved_.bytes += static_cast<double>(part.file.bytes);
    saved_.copy_seconds = std::max(saved_.copy_seconds, part.copy_seconds);
    saved_.write_seconds = std::max(saved_.write_seconds, part.write_seconds);
    files.push_back(std::move(part.file));
  }
  WrittenParts written = written_parts(header_, std::move(files), digest);
  saved_.digest = written.digest;
  commit_checkpoint(temporary(), target(), header_, std::move(written));
  look_around();
  try {
    if (after_commit_) after_commit_();
  } catch (const std::exception& error) {
    log_warning("after the commit of {}: {}", target().string(), describe(error));
  }
  saved_.commit_seconds = seconds_since(began);
}

// Every rank's job must have ended before rank 0 removes the ranks' files.
void CheckpointWriter::fail() {
  cancelled_ = true;
  job_.wait();
  std::string problem;
  bool momentary = false;
  try {
    agree_each(world_, [this] { job_.throw_failure(); });
  } catch (const std::exception& error) {
    problem = describe(error);
    momentary = dynamic_cast<const IoError*>(&error) != nullptr;
  }
  if (world_.rank() == 0) {
    std::error_code error;
    fs::remove_all(temporary(), error);
    if (error) log_warning("{} was not removed: {}", temporary().string(), error.message());
  }
  const fs::path path = target();
  end();
  const std::string what = fmt::format("checkpoint {} was not saved: {}", path.string(), problem);
  if (momentary) throw IoError(what, "the checkpoints saved before are untouched; run the same command again");
  throw DataError(what, "the checkpoints saved before are untouched; make room, then run the same command again");
}

void CheckpointWriter::end() {
  phase_ = Phase::Idle;
  snapshot_.reset();
  arrays_.clear();
  after_commit_ = {};
}

// Waits a second at most, so that a rank that waits for others still beats. A rank whose own disk makes no progress for
// long stops beating, so that its watchdog and those of the ranks that wait for it notice.
void CheckpointWriter::wait_for_job() {
  const auto poll = std::min(patience_ / 8, std::chrono::milliseconds(1000));
  if (phase_ == Phase::Committing && world_.rank() != 0) return;
  const bool ended = job_.wait_for(poll);
  // What was written since the last call counts too: the rank was with the others meanwhile.
  const uint64_t before = std::exchange(seen_pieces_, pieces_);
  still_ = ended || seen_pieces_ != before ? std::chrono::milliseconds() : still_ + poll;
  if (still_ > patience_) job_.wait();
}

SavedCheckpoint CheckpointWriter::finish() {
  require<InternalError>(busy(), "no save is under way");
  still_ = {};
  for (;;) {
    wait_for_job();
    const SaveStates mine = states();
    std::array<double, 3> sums = {mine.written, mine.failed, mine.committed};
    world_.all_reduce_host(sums, ReduceOp::Sum);
    if (auto saved = advance({.written = sums[0], .failed = sums[1], .committed = sums[2]})) return *saved;
  }
}

}  // namespace weft
