// SPDX-License-Identifier: Apache-2.0
#include "parallel/local/in_process.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/device/devices.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// A copy of one rank's input to a collective, so that all ranks can read it while results are written.
struct Contribution {
  std::string operation;
  DType dtype = DType::F32;
  int64_t elements = 0;
  std::vector<std::byte> bytes;
};

// The meeting point of one communicator's ranks. Collectives are numbered; each number has a place for every rank.
class Meeting {
 public:
  Meeting(MeshAxis axis, int size, const InProcessOptions& options) : axis_(axis), size_(size), options_(options) {}

  MeshAxis axis() const { return axis_; }
  int size() const { return size_; }

  void post(int64_t number, int rank, Contribution contribution) {
    const std::lock_guard lock(mutex_);
    Round& round = rounds_[number];
    if (round.given.empty()) round.given.resize(static_cast<size_t>(size_));
    for (int other = 0; other < size_; ++other) {
      const auto& theirs = round.given[other];
      if (!theirs) continue;
      require<InternalError>(theirs->operation == contribution.operation && theirs->dtype == contribution.dtype &&
                                 theirs->elements == contribution.elements,
                             "collective {} over {}: rank {} brings {} of {} {}, rank {} {} of {} {}", number,
                             name(axis_), rank, contribution.operation, contribution.elements, name(contribution.dtype),
                             other, theirs->operation, theirs->elements, name(theirs->dtype));
    }
    round.given[rank] = std::move(contribution);
    round.arrived += 1;
    changed_.notify_all();
  }

  bool ready(int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto at = rounds_.find(number);
    return at != rounds_.end() && at->second.arrived == size_;
  }

  // Waits for all ranks, calls use(contributions), and deletes the round once all ranks have done so.
  template <class Use>
  void meet(int64_t number, int rank, Use&& use) {
    std::unique_lock lock(mutex_);
    Round& round = rounds_[number];
    const auto deadline = Clock::now() + std::chrono::duration<double>(options_.timeout_seconds);
    changed_.wait_until(lock, deadline, [&] { return failed_ || round.arrived == size_; });
    if (failed_ && round.arrived < size_) throw PeerError(fmt::format("another rank of {} failed", name(axis_)));
    require<PeerError>(round.arrived == size_, "rank {} waited {} s over {}: {} of {} ranks came", rank,
                       options_.timeout_seconds, name(axis_), round.arrived, size_);
    lock.unlock();
    use(round.given);
    lock.lock();
    if (++round.used == size_) rounds_.erase(number);
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  struct Round {
    std::vector<std::optional<Contribution>> given;
    int arrived = 0;
    int used = 0;
  };
  MeshAxis axis_;
  int size_;
  InProcessOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Round> rounds_;
  bool failed_ = false;
};

using Given = std::vector<std::optional<Contribution>>;

template <class T>
void reduce_range(const Given& given, int64_t first, ReduceOp op, std::span<T> to) {
  for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i) {
    const auto value = [&](size_t rank) { return reinterpret_cast<const T*>(given[rank]->bytes.data())[first + i]; };
    T sum = value(0);
    for (size_t r = 1; r < given.size(); ++r) sum = op == ReduceOp::Sum ? sum + value(r) : std::max(sum, value(r));
    to[i] = sum;
  }
}

void reduce(const Given& given, int64_t first, ReduceOp op, const Tensor& out) {
  const auto elements = static_cast<size_t>(out.elements());
  switch (out.dtype()) {
    case DType::F32:
      return reduce_range<float>(given, first, op, {out.device_data<float>(), elements});
    case DType::F64:
      return reduce_range<double>(given, first, op, {out.device_data<double>(), elements});
    case DType::I32:
      return reduce_range<int32_t>(given, first, op, {out.device_data<int32_t>(), elements});
    case DType::I64:
      return reduce_range<int64_t>(given, first, op, {out.device_data<int64_t>(), elements});
    case DType::BF16:
      throw InternalError("bf16 is not reduced: reduce in fp32");
  }
}

class InProcessPending : public CollectiveWork {
 public:
  using Use = std::function<void(const Given&)>;
  InProcessPending(std::shared_ptr<Meeting> meeting, int64_t number, int rank, Use use)
      : meeting_(std::move(meeting)), number_(number), rank_(rank), use_(std::move(use)) {}
  bool done() override { return !use_ || meeting_->ready(number_); }

 protected:
  void finish() override {
    if (!use_) return;
    const Use use = std::move(use_);
    use_ = nullptr;
    meeting_->meet(number_, rank_, use);
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int64_t number_;
  int rank_;
  Use use_;
};

class InProcessHostPlane : public HostPlane {
 public:
  InProcessHostPlane(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  void all_reduce(std::span<double> values, ReduceOp op) override {
    meet("host all_reduce", std::as_bytes(values), [&](const Given& given) { reduce_range(given, 0, op, values); });
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    meet("host broadcast", bytes, [&](const Given& given) { std::ranges::copy(given[root]->bytes, bytes.begin()); });
  }
  void gather(std::span<const double> mine, std::span<double> all) override {
    meet("host gather", std::as_bytes(mine), [&](const Given& given) {
      auto to = std::as_writable_bytes(all).begin();
      for (size_t r = 0; !all.empty() && r < given.size(); ++r) to = std::ranges::copy(given[r]->bytes, to).out;
    });
  }
  void barrier() override {
    meet("barrier", {}, [](const Given&) {});
  }

 private:
  template <class Use>
  void meet(const char* what, std::span<const std::byte> mine, Use&& use) {
    meeting_->post(
        number_, rank_,
        {.operation = what, .elements = static_cast<int64_t>(mine.size()), .bytes = {mine.begin(), mine.end()}});
    meeting_->meet(number_++, rank_, use);
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
  int64_t number_ = 0;
};

class InProcessCommunicator : public Communicator {
 public:
  InProcessCommunicator(const std::shared_ptr<Meeting>& meeting, const std::shared_ptr<Meeting>& hosts, int rank)
      : Communicator(meeting->axis(), rank, meeting->size(), std::make_unique<InProcessHostPlane>(hosts, rank)),
        meeting_(meeting) {}
  void progress() override {}

 protected:
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor& t, ReduceOp op) override {
    return start("all_reduce", t, [t, op](const Given& given) { reduce(given, 0, op, t); });
  }
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor& in, const Tensor& out) override {
    const int64_t first = out.elements() * rank();
    return start("reduce_scatter", in, [out, first](const Given& given) { reduce(given, first, ReduceOp::Sum, out); });
  }
  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor& in, const Tensor& out) override {
    return start("all_gather", in, [out](const Given& given) {
      std::byte* to = out.device_raw();
      for (const auto& part : given) to = std::copy(part->bytes.begin(), part->bytes.end(), to);
    });
  }
  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor& in, const Tensor& out) override {
    const size_t piece = in.bytes() / static_cast<size_t>(size()), mine = piece * static_cast<size_t>(rank());
    return start("all_to_all", in, [out, piece, mine](const Given& given) {
      std::byte* to = out.device_raw();
      for (const auto& theirs : given) to = std::copy_n(theirs->bytes.data() + mine, piece, to);
    });
  }
  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor& t, int root) override {
    return start("broadcast", t, [t, root](const Given& given) {
      if (t.bytes() > 0) std::memcpy(t.device_raw(), given[root]->bytes.data(), t.bytes());
    });
  }

 private:
  std::unique_ptr<CollectiveWork> start(const char* what, const Tensor& in, InProcessPending::Use use) {
    Contribution mine{.operation = what,
                      .dtype = in.dtype(),
                      .elements = in.elements(),
                      .bytes = {in.device_raw(), in.device_raw() + in.bytes()}};
    meeting_->post(number_, rank(), std::move(mine));
    return std::make_unique<InProcessPending>(meeting_, number_++, rank(), std::move(use));
  }

  std::shared_ptr<Meeting> meeting_;
  int64_t number_ = 0;
};

// One meeting of devices and one of hosts for each group of an axis.
struct Meetings {
  std::shared_ptr<Meeting> devices, hosts;
};
using AllMeetings = std::map<std::pair<MeshAxis, int>, Meetings>;

AllMeetings meetings_of(const MeshLayout& layout, const InProcessOptions& options) {
  AllMeetings meetings;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (const AxisPlace& p : layout.places(rank)) {
      Meetings& group = meetings[{p.axis, p.group}];
      if (group.devices) continue;
      for (auto* meeting : {&group.devices, &group.hosts})
        *meeting = std::make_shared<Meeting>(p.axis, p.size, options);
    }
  }
  return meetings;
}

// Runs body(rank) in a thread per rank; the first error ends all of them.
void run_ranks(int ranks, const AllMeetings& meetings, const std::function<void(int rank)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](int rank) {
    try {
      body(rank);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      for (const auto& [place, group] : meetings) group.devices->fail(), group.hosts->fail();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace

void run_in_process(const MeshLayout& layout, const std::function<void(Mesh& mesh, int rank)>& body,
                    const InProcessOptions& options) {
  const AllMeetings meetings = meetings_of(layout, options);
  run_ranks(layout.ranks(), meetings, [&](int rank) {
    Mesh mesh(layout, rank, [&](const AxisPlace& p) {
      const Meetings& group = meetings.at({p.axis, p.group});
      return std::make_unique<InProcessCommunicator>(group.devices, group.hosts, p.rank);
    });
    body(mesh, rank);
  });
}

void run_hosts_in_process(const MeshLayout& layout,
                          const std::function<void(const MakeHostPlane& host, int rank)>& body,
                          const InProcessOptions& options) {
  load_kernels_with_the_device();
  const AllMeetings meetings = meetings_of(layout, options);
  run_ranks(layout.ranks(), meetings, [&](int rank) {
    body(
        [&](const AxisPlace& p) {
          return std::make_unique<InProcessHostPlane>(meetings.at({p.axis, p.group}).hosts, p.rank);
        },
        rank);
  });
}

}  // namespace weft
