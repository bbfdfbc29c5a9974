// Every collective over MPI, on world and on the axes of every mesh of so many ranks, against sums made here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "parallel/dry_communicator.h"
#include "parallel/mpi_communicator.h"
#include "parallel/mpi_node.h"

namespace weft {
namespace {

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// What rank `rank` brings as element i: small whole numbers, exact in every dtype and in any order of a sum.
double value(int rank, int64_t i) { return static_cast<double>((rank * 7 + i * 3) % 23 - 11); }

void put(const Tensor& t, int64_t i, double x) {
  switch (t.dtype()) {
    case DType::F32:
      t.data<float>()[i] = static_cast<float>(x);
      break;
    case DType::F64:
      t.data<double>()[i] = x;
      break;
    case DType::BF16:
      t.data<BFloat16>()[i] = BFloat16(static_cast<float>(x));
      break;
    case DType::I32:
      t.data<int32_t>()[i] = static_cast<int32_t>(x);
      break;
    case DType::I64:
      t.data<int64_t>()[i] = static_cast<int64_t>(x);
      break;
  }
}

double get(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::F32:
      return t.data<float>()[i];
    case DType::F64:
      return t.data<double>()[i];
    case DType::BF16:
      return static_cast<float>(t.data<BFloat16>()[i]);
    case DType::I32:
      return t.data<int32_t>()[i];
    case DType::I64:
      return static_cast<double>(t.data<int64_t>()[i]);
  }
  return 0;
}

Tensor filled(Context& context, int64_t elements, DType dtype, int rank) {
  const Tensor t = context.empty({elements}, dtype);
  for (int64_t i = 0; i < elements; ++i) put(t, i, value(rank, i));
  return t;
}

double sum_of(int ranks, int64_t i) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) sum += value(r, i);
  return sum;
}

double largest_of(int ranks, int64_t i) {
  double most = value(0, i);
  for (int r = 1; r < ranks; ++r) most = std::max(most, value(r, i));
  return most;
}

void expect(const Tensor& t, const std::function<double(int64_t)>& wanted, const std::string& what) {
  for (int64_t i = 0; i < t.elements(); ++i) ASSERT_EQ(get(t, i), wanted(i)) << what << ", element " << i;
}

std::string label(const Communicator& c, const char* what, DType dtype, int64_t elements) {
  return fmt::format("{} over {} (rank {} of {}), {} of {}", what, name(c.axis()), c.rank(), c.size(), elements,
                     name(dtype));
}

void check_reductions(Communicator& c, DType dtype, int64_t elements) {
  Context context;
  const int n = c.size(), me = c.rank();
  const Tensor sum = filled(context, elements, dtype, me), most = filled(context, elements, dtype, me);
  c.all_reduce(sum);
  c.all_reduce(most, ReduceOp::Max);
  expect(
      sum, [&](int64_t i) { return sum_of(n, i); }, label(c, "sum", dtype, elements));
  expect(
      most, [&](int64_t i) { return largest_of(n, i); }, label(c, "max", dtype, elements));

  const Tensor whole = filled(context, elements * n, dtype, me), mine = context.empty({elements}, dtype);
  c.reduce_scatter(whole, mine);
  expect(
      mine, [&](int64_t i) { return sum_of(n, me * elements + i); }, label(c, "scatter", dtype, elements));
}

void check_copies(Communicator& c, DType dtype, int64_t elements) {
  Context context;
  const int n = c.size(), me = c.rank();
  const auto wanted = [&](int64_t i) { return value(static_cast<int>(i / elements), i % elements); };
  const Tensor gathered = filled(context, elements * n, dtype, n + 1);
  c.all_gather(filled(context, elements, dtype, me), gathered);
  expect(gathered, wanted, label(c, "gather", dtype, elements));

  const Tensor in_place = filled(context, elements * n, dtype, n + 1);
  const Tensor own = in_place.flat(me * elements, Shape{elements});
  for (int64_t i = 0; i < elements; ++i) put(own, i, value(me, i));
  c.all_gather(own, in_place);
  expect(in_place, wanted, label(c, "gather in place", dtype, elements));

  for (int root = 0; root < n; ++root) {
    const Tensor told = filled(context, elements, dtype, me);
    c.broadcast(told, root);
    expect(
        told, [&](int64_t i) { return value(root, i); }, label(c, "broadcast", dtype, elements));
  }
}

void check_all(Communicator& c) {
  for (const int64_t elements : {0, 1, 7, 129, 5000}) {
    for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64}) check_reductions(c, dtype, elements);
    for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64, DType::BF16}) {
      check_copies(c, dtype, elements);
    }
  }
  c.barrier();
}

TEST(MpiCollectives, AreRightOnEveryAxisOfEveryMesh) {
  const int ranks = world_size();
  for (int tp = 1; tp <= ranks; ++tp) {
    if (ranks % tp != 0) continue;
    const Mesh mesh = mpi_mesh({.dp = ranks / tp, .tp = tp});
    ASSERT_EQ(mesh.dp().rank() * tp + mesh.tp().rank(), mesh.world().rank());
    for (Communicator* c : {&mesh.world(), &mesh.dp(), &mesh.tp()}) check_all(*c);
  }
}

// Messages beyond what one call can count go in pieces.
TEST(MpiCollectives, GoInPieces) {
  for (const int64_t max_count : {1, 3, 100}) {
    const auto c = mpi_communicator(MeshAxis::World, MpiComm::duplicate(MPI_COMM_WORLD), max_count);
    for (const int64_t elements : {0, 1, 3, 7, 129}) {
      for (const DType dtype : {DType::F32, DType::I64}) check_reductions(*c, dtype, elements);
      for (const DType dtype : {DType::BF16, DType::F64}) check_copies(*c, dtype, elements);
    }
  }
}

TEST(MpiCollectives, OverlapOneAnother) {
  Context context;
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  Communicator& c = mesh.dp();
  const int n = c.size(), me = c.rank();
  for (int round = 0; round < 5; ++round) {
    std::vector<Tensor> sums;
    std::vector<std::unique_ptr<CollectiveWork>> pending;
    for (int64_t k = 0; k < 8; ++k) {
      sums.push_back(filled(context, 1 + 4000 * k, DType::F32, me));
      pending.push_back(c.start_all_reduce(sums.back(), ReduceOp::Sum));
      c.progress();
    }
    const Tensor whole = filled(context, 100 * n, DType::F64, me), mine = context.empty({100}, DType::F64);
    const Tensor gathered = context.empty({100 * n}, DType::F64);
    auto scatter = c.start_reduce_scatter(whole, mine);
    auto gather = c.start_all_gather(filled(context, 100, DType::F64, me), gathered);
    double control = 1;
    control = mesh.world().all_reduce_host(control, ReduceOp::Sum);  // another axis meanwhile
    EXPECT_EQ(control, n);
    while (!pending.back()->done()) c.progress();
    gather->wait(), scatter->wait();
    while (!pending.empty()) pending.back()->wait(), pending.pop_back();  // in another order than begun
    for (size_t k = 0; k < sums.size(); ++k) {
      expect(
          sums[k], [&](int64_t i) { return sum_of(n, i); }, fmt::format("bucket {}", k));
    }
    expect(
        mine, [&](int64_t i) { return sum_of(n, me * 100 + i); }, "scatter");
    expect(
        gathered, [&](int64_t i) { return value(static_cast<int>(i / 100), i % 100); }, "gather");
  }
}

TEST(MpiCollectives, TheDestructorOfAStartedOneWaits) {
  Context context;
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  const Tensor t = filled(context, 100'000, DType::F32, mesh.dp().rank());
  { const auto dropped = mesh.dp().start_all_reduce(t, ReduceOp::Sum); }
  expect(
      t, [&](int64_t i) { return sum_of(mesh.dp().size(), i); }, "sum");
}

TEST(MpiCollectives, HostValuesAndText) {
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  Communicator& c = mesh.world();
  std::vector<double> control(3 + static_cast<size_t>(c.size()), 0);
  control[0] = 0.5, control[3 + static_cast<size_t>(c.rank())] = 1.0 + c.rank();
  c.all_reduce_host(control, ReduceOp::Sum);
  EXPECT_EQ(control[0], 0.5 * c.size());
  for (int r = 0; r < c.size(); ++r) EXPECT_EQ(control[3 + static_cast<size_t>(r)], 1.0 + r);
  for (int root = 0; root < c.size(); ++root) {
    const std::string told(1000, 'x');
    EXPECT_EQ(c.broadcast_text(c.rank() == root ? told : "", root), told);
    EXPECT_EQ(c.broadcast_text("", root), "");
  }
}

// bf16 sums, sizes that do not fit and roots that are not there are refused before MPI sees them.
TEST(MpiCollectives, RefusalsNameAxisAndRank) {
  Context context;
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  Communicator& c = mesh.dp();
  EXPECT_THROW(c.all_reduce(context.zeros({2}, DType::BF16)), InternalError);
  EXPECT_THROW(c.broadcast(context.zeros({2}, DType::F32), c.size()), InternalError);
  try {
    c.all_gather(context.zeros({2}, DType::F32), context.zeros({2 * c.size() + 1}, DType::F32));
    FAIL();
  } catch (const InternalError& error) {
    const std::string who = fmt::format("all_gather over dp (rank {} of {})", c.rank(), c.size());
    EXPECT_NE(std::string(error.what()).find(who), std::string::npos) << error.what();
  }
}

TEST(MpiCollectives, CountWhatADryMeshCounts) {
  Context context, meta({.kind = DeviceKind::Meta});
  const Mesh real = mpi_mesh({.dp = world_size()});
  const Mesh dry = dry_mesh({.dp = world_size()}, meta, real.world().rank());
  for (const Mesh* mesh : {&real, &dry}) {
    Context& c = mesh == &real ? context : meta;
    mesh->dp().all_reduce(c.zeros({1000}, DType::F32));
    mesh->dp().all_gather(c.zeros({10}, DType::BF16), c.zeros({10 * world_size()}, DType::BF16));
    mesh->tp().reduce_scatter(c.zeros({10}, DType::F32), c.zeros({10}, DType::F32));
  }
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(real.dp().traffic()[collective].calls, dry.dp().traffic()[collective].calls);
    EXPECT_EQ(real.dp().traffic()[collective].moved, dry.dp().traffic()[collective].moved);
    EXPECT_EQ(real.tp().traffic()[collective].bytes, dry.tp().traffic()[collective].bytes);
  }
}

TEST(MpiNode, RanksShareAPage) {
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  const NodeRanks node = ranks_of_this_node();
  ASSERT_EQ(node.ranks, world_size());
  ASSERT_NE(node.page, nullptr);
  node.page->slot(node.rank).rank = mesh.world().rank();
  node.page->slot(node.rank).pid = getpid();
  mesh.world().barrier();
  const auto all = node.page->read();
  ASSERT_EQ(all.size(), static_cast<size_t>(node.ranks));
  for (int r = 0; r < node.ranks; ++r) EXPECT_EQ(all[r].rank, r);
  double first = node.page->first_to_report() ? 1 : 0;
  first = mesh.world().all_reduce_host(first, ReduceOp::Sum);
  EXPECT_EQ(first, 1);  // one rank of them all
}

}  // namespace
}  // namespace weft
