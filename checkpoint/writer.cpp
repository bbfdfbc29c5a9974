#include "checkpoint/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "checkpoint/part.h"
#include "parallel/agree.h"
#include "parallel/gather_texts.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t bytes_of(std::span<const TensorBox> boxes) {
  uint64_t bytes = 0;
  for (const TensorBox& box : boxes) bytes += box.data.bytes();
  return bytes;
}

std::vector<CheckpointSlice> slices_of(std::span<const TensorBox> boxes) {
  std::vector<CheckpointSlice> slices;
  for (const TensorBox& box : boxes) {
    slices.push_back({.buffer = box.buffer,
                      .name = box.name,
                      .dtype = box.data.dtype(),
                      .shape = box.shape,
                      .origin = box.origin,
                      .extent = box.data.shape()});
  }
  return slices;
}

}  // namespace

CheckpointWriter::CheckpointWriter(fs::path directory, Context& context, Communicator& world)
    : directory_(std::move(directory)),
      context_(context),
      world_(world),
      host_(std::make_shared<MemoryPool>(snapshot_memory(context))) {}

CheckpointWriter::~CheckpointWriter() { cancelled_ = true; }

// All of it into one block: pinned memory is made in pages, and slowly. The pages are there once they are written to,
// and a system without so many says so now.
void CheckpointWriter::reserve(std::span<const TensorBox> owned) {
  const uint64_t bytes = bytes_of(owned);
  if (memory_ && bytes <= part_bytes_) return;
  memory_.reset();
  memory_ = host_->allocate(bytes);
  part_bytes_ = bytes;
  constexpr uint64_t kPiece = uint64_t{64} << 20;
  const Tensor all(memory_, 0, {static_cast<int64_t>(bytes / sizeof(float))}, DType::F32);
  for (uint64_t at = 0; at < all.bytes(); at += kPiece) {
    std::memset(all.raw() + at, 0, std::min(kPiece, all.bytes() - at));
    context_.note_progress();
  }
}

void CheckpointWriter::start(CheckpointHeader header, const std::vector<TensorBox>& owned,
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

void CheckpointWriter::copy(std::span<const TensorBox> owned) {
  boxes_.assign(owned.begin(), owned.end());
  std::vector<Tensor> from;
  std::vector<std::span<std::byte>> to;
  int64_t begin = 0;
  for (TensorBox& box : boxes_) {
    from.push_back(box.data);
    box.data = {memory_, begin, box.data.shape(), box.data.dtype()};
    to.emplace_back(box.data.raw(), box.data.bytes());
    begin += static_cast<int64_t>(box.data.bytes());
  }
  snapshot_ = std::make_unique<Snapshot>(context_, from, to);
}

// Both numbers of a save that may have failed for want of room.
std::string CheckpointWriter::space_text(const fs::path& directory) const {
  std::error_code error;
  const auto space = fs::space(fs::exists(directory, error) ? directory : directory.parent_path(), error);
  return fmt::format("\n  this rank's part needs {} bytes; {} bytes are free in {}", bytes_of(boxes_),
                     error ? error.message() : fmt::format("{}", space.available), directory.string());
}

// A job's errors carry what a reader of the log needs to know of this rank.
void CheckpointWriter::work(const std::function<void()>& body, const fs::path& directory) {
  try {
    body();
  } catch (const Cancelled&) {
  } catch (const std::exception& error) {
    throw DataError(
        fmt::format("rank {} on {}: {}{}", world_.rank(), host_name(), describe(error), space_text(directory)));
  }
}

// Between two pieces of work.
void CheckpointWriter::look_around() {
  context_.note_progress();
  ++pieces_;
  if (cancelled_) throw Cancelled();
}

// Every rank makes the directory, if no other was before it.
void CheckpointWriter::write_part(const fs::path& directory, Clock::time_point began) {
  create_directories_durably(directory);
  CheckpointPart part(directory / (part_name(world_.rank()) + ".h5"), slices_of(boxes_), [this] { look_around(); });
  snapshot_->wait();
  part_.copy_seconds = seconds_since(began);
  const auto copied = Clock::now();
  look_around();
  for (size_t i = 0; i < boxes_.size(); ++i) part.write(i, {boxes_[i].data.raw(), boxes_[i].data.bytes()});
  part_.file = part.finish();
  sync_directory(directory);
  part_.write_seconds = seconds_since(copied);
}

SaveStates CheckpointWriter::states() const {
  if (!busy() || (phase_ == Phase::Committing && world_.rank() != 0) || !job_.ended()) return {};
  if (!job_.failure().empty()) return {.failed = 1};
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

std::vector<CheckpointWriter::Part> CheckpointWriter::gather_parts() const {
  using Json = nlohmann::ordered_json;
  const Json mine = {{"file", file_to_json(part_.file)}, {"copy", part_.copy_seconds}, {"write", part_.write_seconds}};
  std::vector<Part> parts;
  for (const std::string& text : gather_texts(world_, mine.dump())) {
    if (world_.rank() != 0) continue;
    const Json part = Json::parse(text);
    parts.push_back({.file = file_from_json(part.at("file")),
                     .copy_seconds = part.at("copy").get<double>(),
                     .write_seconds = part.at("write").get<double>()});
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
  saved_ = {};
  std::vector<CheckpointFile> files;
  for (Part& part : parts) {
    saved_.bytes += static_cast<double>(part.file.bytes);
    saved_.copy_seconds = std::max(saved_.copy_seconds, part.copy_seconds);
    saved_.write_seconds = std::max(saved_.write_seconds, part.write_seconds);
    files.push_back(std::move(part.file));
  }
  commit_checkpoint(temporary(), target(), header_, std::move(files));
  look_around();
  try {
    if (after_commit_) after_commit_();
  } catch (const std::exception& error) {
    log_warning("after the commit of {}: {}", target().string(), describe(error));
  }
  saved_.commit_seconds = seconds_since(began);
}

// Every rank's job has ended before rank 0 removes what they wrote.
void CheckpointWriter::fail() {
  cancelled_ = true;
  job_.wait();
  const std::string problem = first_text(world_, job_.failure());
  if (world_.rank() == 0) {
    std::error_code error;
    fs::remove_all(temporary(), error);
    if (error) log_warning("{} was not removed: {}", temporary().string(), error.message());
  }
  const fs::path path = target();
  end();
  throw DataError(fmt::format("checkpoint {} was not saved: {}", path.string(), problem),
                  "the checkpoints saved before are untouched; make room, then run the same command again");
}

void CheckpointWriter::end() {
  phase_ = Phase::Idle;
  snapshot_.reset();
  boxes_.clear();
  after_commit_ = {};
}

// A second at most, so that a rank that waits for others shows that it is alive: but one whose own disk has stood still
// for long gives no more signs, so that its watchdog, and those of the ranks that wait for it, can tell.
void CheckpointWriter::wait_for_job() {
  constexpr std::chrono::milliseconds kPoll{1000};
  constexpr int kPatience = 60;
  if (phase_ == Phase::Committing && world_.rank() != 0) return;
  const uint64_t before = pieces_;
  if (job_.wait_for(kPoll) || pieces_ != before) {
    still_ = 0;
  } else if (++still_ > kPatience) {
    job_.wait();
  }
}

SavedCheckpoint CheckpointWriter::finish() {
  require<InternalError>(busy(), "no save is under way");
  still_ = 0;
  for (;;) {
    wait_for_job();
    const SaveStates mine = states();
    std::array<double, 3> sums = {mine.written, mine.failed, mine.committed};
    world_.all_reduce_host(sums, ReduceOp::Sum);
    if (auto saved = advance({.written = sums[0], .failed = sums[1], .committed = sums[2]})) return *saved;
  }
}

}  // namespace weft
