// SPDX-License-Identifier: Apache-2.0
#include "parallel/mpi/chain.h"

#include <algorithm>
#include <array>
#include <exception>

namespace weft {
namespace {

// Messages in flight from one rank to the next. If ranks share a processor, each has this many to work on before the
// next rank runs (with four, four ranks on two processors took three times as long).
constexpr int64_t kWindow = 16;
constexpr size_t kAtOnce = 2;   // sums that are advanced together
constexpr int kTags = 1 << 15;  // MPI guarantees 32767

// Numbered messages to or from one neighbour, which complete in the order of their numbers.
class Flow {
 public:
  void expect(int64_t messages) { total_ = messages; }
  int64_t posted() const { return posted_; }
  int64_t done() const { return done_; }
  int64_t total() const { return total_; }
  bool finished() const { return done_ == total_; }
  bool may_post() const { return posted_ < total_ && posted_ - done_ < kWindow; }
  MPI_Request* post() { return &requests_[static_cast<size_t>(posted_++ % kWindow)]; }
  // True if the oldest message in flight is complete.
  bool collect() {
    if (done_ == posted_) return false;
    int flag = 0;
    check_mpi(MPI_Test(&requests_[static_cast<size_t>(done_ % kWindow)], &flag, MPI_STATUS_IGNORE), "MPI_Test");
    done_ += flag;
    return flag != 0;
  }

 private:
  int64_t total_ = 0, posted_ = 0, done_ = 0;
  std::array<MPI_Request, kWindow> requests_{};
};

// `out` may be one of the inputs.
template <class T>
void combine(ReduceOp op, const std::byte* below, const std::byte* own, std::byte* out, int64_t n) {
  const T *a = reinterpret_cast<const T*>(below), *b = reinterpret_cast<const T*>(own);
  T* to = reinterpret_cast<T*>(out);
  if (op == ReduceOp::Sum) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = a[i] < b[i] ? b[i] : a[i];
  }
}

auto combine_for(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return combine<float>;
    case DType::F64:
      return combine<double>;
    case DType::I32:
      return combine<int32_t>;
    case DType::I64:
      return combine<int64_t>;
    case DType::BF16:
      break;
  }
  throw InternalError("bf16 is not reduced: reduce in fp32");
}

}  // namespace

// One sum. The message is cut into pieces (one, or one per rank for a reduce-scatter), and these into chunks. A rank
// gets the sums of pieces 0 .. rank, keeps its own piece (or the only one) and passes on the pieces of the ranks below
// it, which are always the first chunks.
class ChainWork : public CollectiveWork {
 public:
  ChainWork(std::shared_ptr<MpiChain> chain, const Tensor& in, const Tensor& out, ReduceOp op)
      : chain_(std::move(chain)),
        in_(in.device_raw()),
        out_(out.device_raw()),
        op_(op),
        combine_(combine_for(in.dtype())),
        in_place_(in_ == out_),
        width_(static_cast<int64_t>(size_of(in.dtype()))),
        piece_(out.elements()),
        chunk_(std::max<int64_t>(1, chain_->chunk_bytes_ / width_)),
        tag_(chain_->tag_) {
    const int64_t pieces = in_place_ ? 1 : chain_->size_;
    chunks_a_piece_ = (piece_ + chunk_ - 1) / chunk_;
    const int64_t all = chunks_a_piece_ * pieces;
    const auto down_to = [&](int rank) { return in_place_ ? all : chunks_a_piece_ * (rank + 1); };
    if (!first()) from_below_.expect(all), to_below_.expect(down_to(chain_->rank_ - 1));
    if (!last()) to_above_.expect(all), from_above_.expect(down_to(chain_->rank_));
    chain_->tag_ = (chain_->tag_ + 1) % kTags;
    chain_->under_way_.push_back(this);
  }

  // While an exception unwinds, other ranks may never arrive; the next MPI call is MPI_Abort, so do not wait here.
  ~ChainWork() override {
    try {
      if (std::uncaught_exceptions() == 0) ChainWork::finish();
    } catch (const std::exception&) {  // the next MPI call reports the failure
    }
    std::erase(chain_->under_way_, this);
  }

  bool done() override {
    if (!finished_) chain_->progress();
    return finished_;
  }

  // Moves every chunk that can move now.
  void advance() {
    if (!first() && !partials_) partials_ = chain_->take_scratch();
    if (passes_on() && !sums_) sums_ = chain_->take_scratch();
    while (go_up() || go_down()) {
    }
    finished_ = from_below_.finished() && to_above_.finished() && from_above_.finished() && to_below_.finished();
    if (!finished_) return;
    if (partials_) chain_->give_back(std::move(partials_));
    if (sums_) chain_->give_back(std::move(sums_));
  }
  bool finished() const { return finished_; }

 protected:
  void finish() override {
    while (!finished_) chain_->progress();
  }

 private:
  bool first() const { return chain_->rank_ == 0; }
  bool last() const { return chain_->rank_ == chain_->size_ - 1; }
  bool passes_on() const { return !in_place_ && !first() && !last(); }  // whether it forwards sums that others own

  struct Chunk {
    int64_t piece = 0;
    int64_t begin = 0;   // byte in the message
    int64_t within = 0;  // byte in its piece
    int64_t elements = 0;
  };
  Chunk chunk(int64_t k) const {
    const int64_t piece = k / chunks_a_piece_, at = k % chunks_a_piece_ * chunk_;
    return {.piece = piece,
            .begin = (piece * piece_ + at) * width_,
            .within = at * width_,
            .elements = std::min(chunk_, piece_ - at)};
  }
  std::byte* slot(const MpiChain::Scratch& scratch, int64_t k) const {
    return scratch.get() + k % kWindow * chunk_ * width_;
  }
  bool is_mine(const Chunk& c) const { return !in_place_ && c.piece == chain_->rank_; }
  // The places of the sum over the ranks up to this one, and of the sum over all ranks.
  std::byte* partial(int64_t k) const {
    const Chunk c = chunk(k);
    if (first() || in_place_) return in_ + c.begin;
    return last() && is_mine(c) ? out_ + c.within : slot(partials_, k);
  }
  std::byte* sum(int64_t k) const {
    if (last()) return partial(k);
    const Chunk c = chunk(k);
    if (in_place_) return out_ + c.begin;
    return is_mine(c) ? out_ + c.within : slot(sums_, k);
  }

  // True if message k from below has been used, so that its slot is free again.
  bool is_used(int64_t k) const {
    if (in_place_) return k < from_below_.done();
    if (!last()) return k < to_above_.done();
    return k < to_below_.total() ? k < to_below_.done() : k < from_below_.done();
  }

  bool go_up() {
    bool moved = false;
    while (from_below_.may_post() && (from_below_.posted() < kWindow || is_used(from_below_.posted() - kWindow))) {
      const int64_t k = from_below_.posted();
      receive(from_below_, slot(partials_, k), k, chain_->rank_ - 1), moved = true;
    }
    while (from_below_.collect()) {
      const int64_t k = from_below_.done() - 1;
      combine_(op_, slot(partials_, k), in_ + chunk(k).begin, partial(k), chunk(k).elements), moved = true;
    }
    while (to_above_.may_post() && (first() || to_above_.posted() < from_below_.done())) {
      const int64_t k = to_above_.posted();
      send(to_above_, partial(k), k, chain_->rank_ + 1), moved = true;
    }
    while (to_above_.collect()) moved = true;
    return moved;
  }

  // The sum may overwrite the partial sum that was sent up, but only once MPI has finished sending it.
  bool has_place(int64_t k) const {
    if (in_place_) return k < to_above_.done();
    return is_mine(chunk(k)) || k < kWindow || k - kWindow < to_below_.done();
  }

  bool go_down() {
    bool moved = false;
    while (from_above_.may_post() && has_place(from_above_.posted())) {
      const int64_t k = from_above_.posted();
      receive(from_above_, sum(k), k, chain_->rank_ + 1), moved = true;
    }
    while (from_above_.collect()) moved = true;
    const Flow& whole = last() ? from_below_ : from_above_;
    while (to_below_.may_post() && to_below_.posted() < whole.done()) {
      const int64_t k = to_below_.posted();
      send(to_below_, sum(k), k, chain_->rank_ - 1), moved = true;
    }
    while (to_below_.collect()) moved = true;
    return moved;
  }

  void receive(Flow& flow, std::byte* to, int64_t k, int neighbour) {
    check_mpi(MPI_Irecv(to, bytes(k), MPI_BYTE, neighbour, tag_, chain_->comm_->get(), flow.post()), "MPI_Irecv");
  }
  void send(Flow& flow, const std::byte* from, int64_t k, int neighbour) {
    check_mpi(MPI_Isend(from, bytes(k), MPI_BYTE, neighbour, tag_, chain_->comm_->get(), flow.post()), "MPI_Isend");
  }
  int bytes(int64_t k) const { return static_cast<int>(chunk(k).elements * width_); }

  std::shared_ptr<MpiChain> chain_;
  std::byte *in_, *out_;
  ReduceOp op_;
  decltype(combine_for(DType::F32)) combine_;
  bool in_place_;                                       // all-reduce
  int64_t width_, piece_, chunk_, chunks_a_piece_ = 0;  // elements; width_: bytes per element
  int tag_;
  bool finished_ = false;
  Flow from_below_, to_above_, from_above_, to_below_;
  MpiChain::Scratch partials_, sums_;  // kWindow chunks each
};

MpiChain::MpiChain(std::shared_ptr<const MpiComm> comm, int rank, int size, int64_t chunk_bytes)
    : comm_(std::move(comm)), rank_(rank), size_(size), chunk_bytes_(std::max<int64_t>(chunk_bytes, sizeof(double))) {}

MpiChain::~MpiChain() = default;

MpiChain::Scratch MpiChain::take_scratch() {
  if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(kWindow * chunk_bytes_));
  Scratch scratch = std::move(spare_.back());
  spare_.pop_back();
  return scratch;
}

void MpiChain::progress() {
  for (size_t i = 0; i < std::min(under_way_.size(), kAtOnce); ++i) under_way_[i]->advance();
  std::erase_if(under_way_, [](const ChainWork* work) { return work->finished(); });
}

std::unique_ptr<CollectiveWork> MpiChain::all_reduce(const Tensor& t, ReduceOp op) {
  return std::make_unique<ChainWork>(shared_from_this(), t, t, op);
}

std::unique_ptr<CollectiveWork> MpiChain::reduce_scatter(const Tensor& in, const Tensor& out) {
  return std::make_unique<ChainWork>(shared_from_this(), in, out, ReduceOp::Sum);
}

}  // namespace weft
