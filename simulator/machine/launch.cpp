// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/launch.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "simulator/machine/warp.h"
#include "simulator/ptx/readable_name.h"

namespace weft::cuda_device {
namespace {

constexpr uint32_t kMostInstructions = 256;  // the most instructions of one warp before another may run
constexpr uint32_t kMostMoments = 0xffff;    // the most moments that a Stamp can distinguish
constexpr int kUnknown = 0xff;               // fills memory and registers that were never written

uint32_t random_below(std::mt19937_64& random, size_t n) { return uint32_t(random() % n); }

Dim place_of(size_t number, Dim extents) {
  return {uint32_t(number % extents.x), uint32_t(number / extents.x % extents.y),
          uint32_t(number / extents.x / extents.y)};
}

// The registers of all warps of a block, aligned for vector instructions.
class RegisterFiles {
 public:
  RegisterFiles(size_t warps, size_t bytes_each) : bytes_each_(bytes_each), store_(warps * bytes_each + kAlignment) {
    std::ranges::fill(store_, std::byte{kUnknown});
    const auto at = reinterpret_cast<uintptr_t>(store_.data());
    first_ = store_.data() + (kAlignment - at % kAlignment) % kAlignment;
  }
  std::byte* of(size_t warp) { return first_ + warp * bytes_each_; }
  // What a block begins with: what is in the registers now, the rest unknown, and not what the block before left.
  void keep() { kept_ = store_; }
  void restore() { std::ranges::copy(kept_, store_.begin()); }

 private:
  static constexpr size_t kAlignment = 64;
  size_t bytes_each_;
  std::vector<std::byte> store_, kept_;
  std::byte* first_;
};

void set_constants(Warp& w, const Kernel& kernel) {
  for (const Constant& c : kernel.constants) {
    std::byte* at = w.registers + c.place.place;
    if (c.place.width == Operand::kPredicate) {
      const uint32_t all = c.bits ? kAllLanes : 0;
      std::memcpy(at, &all, sizeof all);
    } else {
      for (int l = 0; l < kLanes; ++l) std::memcpy(at + l * c.place.width, &c.bits, c.place.width);
    }
  }
}

void set_special(Warp& w, Special special, uint32_t value) {
  auto* lanes = reinterpret_cast<uint32_t*>(w.registers + place_of(special));
  std::fill(lanes, lanes + kLanes, value);
}

template <class F>
void set_special_by_lane(Warp& w, Special special, F&& value) {
  auto* lanes = reinterpret_cast<uint32_t*>(w.registers + place_of(special));
  for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = uint32_t(value(l));
}

// Values that are the same in every block of the launch.
void set_fixed_specials(Warp& w, const Launch& launch, size_t warps) {
  const auto set_dim = [&](Special x, Dim d) {
    set_special(w, x, d.x);
    set_special(w, Special(int(x) + 1), d.y);
    set_special(w, Special(int(x) + 2), d.z);
  };
  const auto thread = [&](uint32_t lane) { return place_of(w.thread(int(lane)), launch.block); };
  set_special_by_lane(w, Special::TidX, [&](uint32_t l) { return thread(l).x; });
  set_special_by_lane(w, Special::TidY, [&](uint32_t l) { return thread(l).y; });
  set_special_by_lane(w, Special::TidZ, [&](uint32_t l) { return thread(l).z; });
  set_dim(Special::NtidX, launch.block);
  set_dim(Special::NctaidX, launch.grid);
  set_special_by_lane(w, Special::LaneId, [](uint32_t l) { return l; });
  set_special(w, Special::WarpId, uint32_t(w.index));
  set_special(w, Special::NWarpId, uint32_t(warps));
  set_special_by_lane(w, Special::LaneMaskEq, [](uint32_t l) { return 1u << l; });
  set_special_by_lane(w, Special::LaneMaskLt, [](uint32_t l) { return (1u << l) - 1; });
  set_special_by_lane(w, Special::LaneMaskLe, [](uint32_t l) { return (1u << l) - 1 + (1u << l); });
  set_special_by_lane(w, Special::LaneMaskGt, [](uint32_t l) { return ~((1u << l) - 1 + (1u << l)); });
  set_special_by_lane(w, Special::LaneMaskGe, [](uint32_t l) { return ~((1u << l) - 1); });
  set_special(w, Special::DynamicShared, uint32_t(launch.dynamic_shared_bytes));
  set_special(w, Special::TotalShared, uint32_t(launch.kernel->shared_bytes + launch.dynamic_shared_bytes));
  set_special(w, Special::Environment0, launch.environment);
}

// One launch: its block, which is reused for every block of the grid, and the schedule.
class Run {
 public:
  Run(const Launch& launch, Memory& memory, std::mt19937_64& random);
  Counters all();

 private:
  void start_block(uint32_t number);
  void start_warp(Warp& w, Dim block);
  void run_block();
  void run_warp(Warp& w, uint32_t budget);
  void step(Warp& w, const Instruction& i);
  void branch(Warp& w, const Instruction& i);
  void end_lanes(Warp& w);
  void warp_barrier(Warp& w, const Instruction& i);
  void block_barrier(Warp& w, const Instruction& i);
  void pass_barrier();
  static bool waits(Warp& w, const Instruction& i);
  static void go_on_at_lowest(Warp& w);

  const Launch& launch_;
  std::mt19937_64& random_;
  Counters counters_;
  Releases releases_;
  Block block_;
  RegisterFiles registers_;
  std::vector<Warp*> ready_;
  size_t waiting_ = 0;
};

Run::Run(const Launch& launch, Memory& memory, std::mt19937_64& random)
    : launch_(launch),
      random_(random),
      registers_((launch.block.size() + kLanes - 1) / kLanes, launch.kernel->register_bytes) {
  const Kernel& kernel = *launch.kernel;
  const size_t warps = (launch.block.size() + kLanes - 1) / kLanes;
  block_.launch = &launch;
  block_.memory = &memory;
  block_.counters = &counters_;
  block_.releases = &releases_;
  block_.global = memory.accessor();
  block_.global.acquired = &block_.acquired;
  block_.shared_bytes.assign(kernel.shared_bytes + launch.dynamic_shared_bytes, std::byte{kUnknown});
  block_.shared_shadow = Shadow(block_.shared_bytes.size());
  block_.local_bytes.resize(kernel.local_bytes * warps * kLanes);
  block_.warps.resize(warps);
  for (size_t k = 0; k < warps; ++k) {
    Warp& w = block_.warps[k];
    w.registers = registers_.of(k);
    w.index = int(k);
    w.block = &block_;
    set_constants(w, kernel);
    set_fixed_specials(w, launch, warps);
  }
  registers_.keep();
}

Counters Run::all() {
  std::vector<uint32_t> order(launch_.grid.size());
  std::iota(order.begin(), order.end(), 0u);
  for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random_below(random_, k)]);
  for (size_t k = 0; k < order.size(); ++k) {
    block_.blocks_before = k;
    start_block(order[k]);
    run_block();
  }
  counters_.launches = 1;
  return counters_;
}

void Run::start_block(uint32_t number) {
  block_.number = number;
  block_.acquired.clear();
  block_.global.acquired_all = false;
  block_.global.block = block_.global.run = block_.memory->history().next_run();
  block_.shared = Accessor{
      .floor = block_.global.run, .launch = block_.global.run, .block = block_.global.run, .run = block_.global.run};
  registers_.restore();
  std::ranges::fill(block_.local_bytes, std::byte{kUnknown});
  ready_.clear();
  for (Warp& w : block_.warps) {
    start_warp(w, place_of(number, launch_.grid));
    ready_.push_back(&w);
  }
}

void Run::start_warp(Warp& w, Dim block) {
  const size_t threads = launch_.block.size() - size_t(w.index) * kLanes;
  w.group = threads >= kLanes ? kAllLanes : (1u << threads) - 1;
  w.pc = 0;
  w.moment = 0;
  w.at_barrier = w.done = false;
  w.fenced = 0;
  w.others.clear();
  w.copies.clear();
  w.committed.fill(0);
  set_special(w, Special::CtaidX, block.x);
  set_special(w, Special::CtaidY, block.y);
  set_special(w, Special::CtaidZ, block.z);
}

void Run::run_block() {
  waiting_ = 0;
  while (!ready_.empty() || waiting_ > 0) {
    if (ready_.empty()) {
      pass_barrier();
      continue;
    }
    const size_t k = random_below(random_, ready_.size());
    Warp& w = *ready_[k];
    run_warp(w, 1 + random_below(random_, kMostInstructions));
    if (!w.at_barrier && !w.done) continue;
    waiting_ += w.at_barrier;
    ready_[k] = ready_.back();
    ready_.pop_back();
  }
}

// Passes the barrier: all warps that have not ended have arrived.
void Run::pass_barrier() {
  block_.next_run();
  waiting_ = 0;
  for (Warp& w : block_.warps) {
    w.moment = 0;
    if (!w.at_barrier) continue;
    w.at_barrier = false;
    const Instruction& barrier = launch_.kernel->code[size_t(w.pc) - 1];
    w.exec = w.group;
    if (barrier.execute) barrier.execute(w, barrier);
    ready_.push_back(&w);
  }
  block_.yes = block_.asked = 0;
}

// Runs a warp until a barrier of the block, its end, or the end of its turn.
void Run::run_warp(Warp& w, uint32_t budget) {
  const Instruction* code = launch_.kernel->code.data();
  while (!w.done && !w.at_barrier && budget-- > 0) {
    const Instruction& i = code[w.pc];
    w.exec = i.guarded ? w.group & w.predicate(i.guard) : w.group;
    if (!w.others.empty() && i.meets != Meets::None && waits(w, i)) continue;
    ++counters_.instructions;
    counters_.lane_instructions += uint64_t(std::popcount(w.exec));
    if (i.flow == Flow::Next) {
      if (w.exec) i.execute(w, i);
      ++w.pc;
    } else {
      step(w, i);
    }
    if (!w.others.empty() || w.group == 0) go_on_at_lowest(w);
  }
}

void Run::step(Warp& w, const Instruction& i) {
  if (i.flow == Flow::Branch) return branch(w, i);
  if (i.flow == Flow::Exit) end_lanes(w);
  if (i.flow == Flow::WarpBarrier) warp_barrier(w, i);
  if (i.flow == Flow::BlockBarrier) block_barrier(w, i);
  ++w.pc;
}

void Run::end_lanes(Warp& w) {
  for (const Warp::Group& o : w.others) {
    const Instruction& there = launch_.kernel->code[size_t(o.pc)];
    if (w.exec && o.waits && there.flow == Flow::BlockBarrier)
      report(w, there, w.first_lane(), ReportKind::Barrier,
             "ends while lanes of its warp wait at a barrier of the block");
  }
  w.group &= ~w.exec;
}

void Run::branch(Warp& w, const Instruction& i) {
  if (w.exec == w.group) {
    w.pc = i.target;
    return;
  }
  if (w.exec) {
    w.others.push_back({i.target, w.exec});
    w.group &= ~w.exec;
  }
  ++w.pc;
}

// Lanes whose masks name a part of the warp wait only for that part. The barrier then orders the whole warp, which is
// more than the lanes may rely on.
void Run::warp_barrier(Warp& w, const Instruction& i) {
  if (!w.exec) return;
  const auto* masks = w.lanes<uint32_t>(i.operands[0]);
  for_each_lane(w.exec, [&](int l) {
    const uint32_t missing = masks[l] & w.living() & ~w.exec;
    if (missing || !(masks[l] >> l & 1))
      report(w, i, l, ReportKind::Barrier,
             "a barrier of lanes " + std::to_string(masks[l]) + " reached by lanes " + std::to_string(w.exec));
  });
  if (++w.moment > kMostMoments)
    throw std::runtime_error("too many warp barriers between two barriers of the block in " + launch_.kernel->name);
}

void Run::block_barrier(Warp& w, const Instruction& i) {
  if (!w.exec) return;
  if (w.exec != w.living())
    report(w, i, std::countr_zero(w.living() & ~w.exec), ReportKind::Barrier,
           "a barrier of the block that this lane has not reached when lanes " + std::to_string(w.exec) +
               " of its warp have");
  w.at_barrier = true;
  if (!i.execute) return;
  block_.asked += uint32_t(std::popcount(w.exec));
  block_.yes += uint32_t(std::popcount(w.exec & w.predicate(i.operands[1])));
}

// Lanes that come to an instruction of several lanes wait there for those that it names, as on a device. Where none of
// the others can continue, they execute it without them, which the instruction reports.
bool Run::waits(Warp& w, const Instruction& i) {
  uint32_t named = i.meets == Meets::Warp ? kAllLanes : 0;
  if (i.meets == Meets::Named) for_each_lane(w.exec, [&](int l) { named |= w.lanes<uint32_t>(i.operands.back())[l]; });
  const bool all_here = !w.exec || !(named & w.living() & ~w.group);
  if (all_here || std::ranges::all_of(w.others, &Warp::Group::waits)) return false;
  w.others.push_back({w.pc, w.group, true});
  w.group = 0;
  go_on_at_lowest(w);
  return true;
}

// Continues with the lanes at the lowest program counter that do not wait; lanes that meet there continue together.
void Run::go_on_at_lowest(Warp& w) {
  if (w.group) w.others.push_back({w.pc, w.group});
  if (w.others.empty()) {
    w.done = true;
    return;
  }
  w.pc = std::ranges::min(w.others, {}, [](const Warp::Group& o) { return std::pair(o.waits, o.pc); }).pc;
  w.group = 0;
  std::erase_if(w.others, [&](const Warp::Group& o) {
    if (o.pc == w.pc) w.group |= o.lanes;
    return o.pc == w.pc;
  });
}

}  // namespace

void Block::next_run() {
  const RunId run = memory->history().next_run();
  global.run = shared.run = run;
}

void report(const Warp& w, const Instruction& i, int lane, ReportKind kind, const std::string& what) {
  const Kernel& kernel = w.block->kernel();
  const Origin& origin = kernel.origins[size_t(&i - kernel.code.data())];
  Report r;
  r.kind = kind;
  r.kernel = kernel.name;
  r.source = origin.source;
  r.instruction = origin.text;
  r.block = place_of(w.block->number, w.block->launch->grid);
  r.thread = place_of(w.thread(lane), w.block->launch->block);
  const auto text = [](Dim d) {
    return std::string("(") + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  r.sentence = (r.source.empty() ? "" : r.source + ": ") + readable_name(r.kernel) + " block " + text(r.block) +
               " thread " + text(r.thread) + ": " + what + " [" + r.instruction + "]";
  w.block->memory->reports().add(std::move(r));
}

Counters run_launch(const Launch& launch, Memory& memory, std::mt19937_64& random) {
  if (launch.parameters.size() < launch.kernel->parameter_bytes)
    throw std::runtime_error("launch of " + launch.kernel->name + " with " + std::to_string(launch.parameters.size()) +
                             " bytes of parameters; it has " + std::to_string(launch.kernel->parameter_bytes));
  memory.begin(launch.op, launch.device);
  return Run(launch, memory, random).all();
}

}  // namespace weft::cuda_device
