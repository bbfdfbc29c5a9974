// SPDX-License-Identifier: Apache-2.0
#include "parallel/communicator.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "kernels/trace.h"
#include "parallel/watch/heartbeat.h"

namespace weft {

namespace {

class CompletedWork : public CollectiveWork {
 public:
  bool done() override { return true; }

 protected:
  void finish() override {}
};

}  // namespace

std::unique_ptr<CollectiveWork> completed_work() { return std::make_unique<CompletedWork>(); }

std::string_view name(Collective collective) {
  constexpr EnumTable<Collective, std::string_view> kNames = {
      {Collective::AllReduce, "all_reduce"}, {Collective::ReduceScatter, "reduce_scatter"},
      {Collective::AllGather, "all_gather"}, {Collective::AllToAll, "all_to_all"},
      {Collective::Broadcast, "broadcast"},  {Collective::Barrier, "barrier"}};
  return kNames[collective];
}

double ideal_bytes(Collective collective, int ranks, int64_t bytes) {
  if (ranks <= 1) return 0;
  const double share = static_cast<double>(ranks - 1) / ranks, all = static_cast<double>(bytes);
  switch (collective) {
    case Collective::AllReduce:
      return 2 * share * all;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return share * all;
    case Collective::Broadcast:
      return all;
    case Collective::Barrier:
      return 0;
  }
  throw InternalError("no such collective");
}

Traffic::Entry Traffic::total() const {
  Entry sum;
  for (const Entry& e : entries_) {
    sum.calls += e.calls, sum.bytes += e.bytes, sum.moved += e.moved, sum.wait_seconds += e.wait_seconds;
  }
  return sum;
}

void CollectiveWork::wait() {
  if (!communicator_) return finish();
  communicator_->finish(*this);
}

template <class Block>
void Communicator::timed_wait(Collective collective, int64_t number, Block&& block) {
  const auto start = std::chrono::steady_clock::now();
  if (heartbeat_) heartbeat_->wait_for(axis_, collective, number);
  block();
  if (heartbeat_) heartbeat_->go_on();
  traffic_[collective].wait_seconds += seconds_since(start);
}

int64_t Communicator::mark() const { return trace_ && size_ > 1 ? trace_->mark() : Trace::kNone; }

void Communicator::finish(CollectiveWork& work) {
  const int64_t waited = mark();
  timed_wait(work.collective_, work.number_, [&work] { work.finish(); });
  const int64_t began = std::exchange(work.began_, Trace::kNone);
  if (waited == Trace::kNone || began == Trace::kNone) return;
  const int64_t end = trace_->mark();
  const std::string& name = ledger_names_[static_cast<size_t>(work.collective_)];
  const std::string what = work.use_.what ? fmt::format("{}, {}{}", name, work.use_.what,
                                                        work.use_.index < 0 ? "" : fmt::format(" {}", work.use_.index))
                                          : name;
  const auto bytes = static_cast<double>(std::max(work.tensors_[0].bytes(), work.tensors_[1].bytes()));
  trace_->add(SpanKind::Collective, what, began, end, {.bytes = bytes});
  trace_->add(SpanKind::Wait, what, waited, end, {.bytes = bytes});
}

template <class Block>
void Communicator::wait_for_hosts(Collective collective, size_t bytes, Block&& block) {
  std::optional<HostSpan> span;
  if (trace_ && size_ > 1) span.emplace(*trace_, SpanKind::Control, ledger_names_[static_cast<size_t>(collective)]);
  timed_wait(collective, begin(collective, static_cast<int64_t>(bytes)), block);
}

Communicator::Communicator(MeshAxis axis, int rank, int size, std::unique_ptr<HostPlane> host)
    : axis_(axis), rank_(rank), size_(size), host_(std::move(host)) {
  for (int i = 0; i < kCollectives; ++i) {
    ledger_names_[i] = fmt::format("{}.{}", name(axis_), name(static_cast<Collective>(i)));
  }
}

int64_t Communicator::begin(Collective collective, int64_t bytes) {
  const double moved = ideal_bytes(collective, size_, bytes);
  Traffic::Entry& entry = traffic_[collective];
  entry.calls += 1, entry.bytes += bytes, entry.moved += moved;
  if (ledger_) {
    ledger_->record(ledger_names_[static_cast<size_t>(collective)], OperationKind::Collective,
                    {.calls = 1, .moved = moved});
  }
  return heartbeat_ ? heartbeat_->begin(axis_, collective) : 0;
}

int64_t Communicator::begin_over_tensors(Collective collective, int64_t bytes, CollectiveUse use) {
  if (log_) log_->push_back({this, collective, bytes, use});
  const int64_t number = begin(collective, bytes);
  if (heartbeat_) heartbeat_->device().queue(axis_, {collective, number, bytes, use});
  return number;
}

void Communicator::queued_again(const CollectiveLog& log) {
  for (const CalledCollective& call : log) {
    call.communicator->begin_over_tensors(call.collective, call.bytes, call.use);
  }
}

void Communicator::beat_on(Heartbeat& heartbeat) {
  heartbeat_ = &heartbeat;
  if (auto count = count_of_done()) heartbeat.device().watch(axis_, std::move(count));
}

template <class Start>
std::unique_ptr<CollectiveWork> Communicator::numbered(Start&& start, Collective collective, int64_t number,
                                                       const Tensor& in, const Tensor& out, CollectiveUse use) {
  const int64_t began = mark();
  std::unique_ptr<CollectiveWork> pending = start();
  pending->began_ = began;
  pending->communicator_ = this, pending->collective_ = collective, pending->number_ = number;
  pending->use_ = use;
  pending->tensors_ = {in, out};
  return pending;
}

void Communicator::fit(Collective collective, int64_t a, int64_t b, const Tensor& in, const Tensor& out) const {
  require<InternalError>(a == b && in.dtype() == out.dtype(), "{} over {} (rank {} of {}): {} does not fit {}",
                         name(collective), name(axis_), rank_, size_, in, out);
}

std::unique_ptr<CollectiveWork> Communicator::start_all_reduce(const Tensor& t, ReduceOp op, CollectiveUse use) {
  require<InternalError>(t.dtype() != DType::BF16, "all_reduce over {}: bf16 is not reduced; reduce in fp32",
                         name(axis_));
  const int64_t number = begin_over_tensors(Collective::AllReduce, static_cast<int64_t>(t.bytes()), use);
  return numbered([&] { return do_all_reduce(t, op); }, Collective::AllReduce, number, t, t, use);
}

std::unique_ptr<CollectiveWork> Communicator::start_reduce_scatter(const Tensor& in, const Tensor& out,
                                                                   CollectiveUse use) {
  require<InternalError>(in.dtype() != DType::BF16, "reduce_scatter over {}: bf16 is not reduced; reduce in fp32",
                         name(axis_));
  fit(Collective::ReduceScatter, in.elements(), out.elements() * size_, in, out);
  const int64_t number = begin_over_tensors(Collective::ReduceScatter, static_cast<int64_t>(in.bytes()), use);
  return numbered([&] { return do_reduce_scatter(in, out); }, Collective::ReduceScatter, number, in, out, use);
}

std::unique_ptr<CollectiveWork> Communicator::start_all_gather(const Tensor& in, const Tensor& out, CollectiveUse use) {
  fit(Collective::AllGather, in.elements() * size_, out.elements(), in, out);
  const int64_t number = begin_over_tensors(Collective::AllGather, static_cast<int64_t>(out.bytes()), use);
  return numbered([&] { return do_all_gather(in, out); }, Collective::AllGather, number, in, out, use);
}

std::unique_ptr<CollectiveWork> Communicator::start_all_to_all(const Tensor& in, const Tensor& out, CollectiveUse use) {
  fit(Collective::AllToAll, in.elements(), out.elements(), in, out);
  require<InternalError>(in.elements() % size_ == 0 && (in.meta() || in.bytes() == 0 || in.place() != out.place()),
                         "all_to_all over {}: {} in pieces for {} ranks, to memory of its own", name(axis_), in, size_);
  const int64_t number = begin_over_tensors(Collective::AllToAll, static_cast<int64_t>(in.bytes()), use);
  return numbered([&] { return do_all_to_all(in, out); }, Collective::AllToAll, number, in, out, use);
}

void Communicator::broadcast(const Tensor& t, int root) {
  require<InternalError>(root >= 0 && root < size_, "broadcast over {}: no rank {} of {}", name(axis_), root, size_);
  const int64_t number = begin_over_tensors(Collective::Broadcast, static_cast<int64_t>(t.bytes()), {});
  numbered([&] { return do_broadcast(t, root); }, Collective::Broadcast, number, t, t, {})->wait();
}

void Communicator::barrier() {
  wait_for_hosts(Collective::Barrier, 0, [this] { host_->barrier(); });
}

void Communicator::all_reduce_host(std::span<double> values, ReduceOp op) {
  wait_for_hosts(Collective::AllReduce, values.size_bytes(), [&] { host_->all_reduce(values, op); });
}

double Communicator::all_reduce_host(double value, ReduceOp op) {
  all_reduce_host({&value, 1}, op);
  return value;
}

// A gather counts as an all-gather, although only rank 0 gets the result.
std::vector<double> Communicator::gather_host(std::span<const double> mine) {
  std::vector<double> all(rank_ == 0 ? mine.size() * static_cast<size_t>(size_) : 0);
  wait_for_hosts(Collective::AllGather, mine.size_bytes() * static_cast<size_t>(size_),
                 [&] { host_->gather(mine, all); });
  return all;
}

std::string Communicator::broadcast_text(const std::string& text, int root) {
  const auto broadcast = [&](std::span<std::byte> bytes) {
    wait_for_hosts(Collective::Broadcast, bytes.size(), [&] { host_->broadcast(bytes, root); });
  };
  auto length = static_cast<int64_t>(text.size());
  broadcast(std::as_writable_bytes(std::span(&length, 1)));
  std::string buffer = rank() == root ? text : std::string(static_cast<size_t>(length), '\0');
  if (length > 0) broadcast(std::as_writable_bytes(std::span(buffer)));
  return buffer;
}

}  // namespace weft
