// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/world_status.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "parallel/watch/watchdog.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr RunKey kKey = {11, 12};
const uint32_t kHere = htonl(INADDR_LOOPBACK);

NodeStatus::Entry rank_of(int rank, const std::string& host = "b") {
  NodeStatus::Entry e{.pid = 100 + rank, .rank = rank, .progressed_ns = NodeStatus::now_ns()};
  e.host = host, e.process_state = 'S', e.heard_ns = NodeStatus::now_ns();
  e.at.step = 7, e.at.phase = RunPhase::Save, e.at.begun = {1, 2, 3};
  return e;
}

// The datagrams of rank 3's node, the first of them with a number.
std::vector<std::string> datagrams_of(std::span<const NodeStatus::Entry> ranks, uint64_t number = 1,
                                      const RunKey& key = kKey) {
  uint64_t last = number - 1;
  return to_datagrams(key, 3, last, ranks);
}

TEST(WorldMessages, SayWhereRanksAre) {
  std::vector<NodeStatus::Entry> ranks;
  for (int i = 0; i < 20; ++i) ranks.push_back(rank_of(i));
  ranks[3].progressed_ns -= 4'000'000'000;
  ranks[3].heard_ns -= 2'000'000'000;
  std::vector<NodeStatus::Entry> heard;
  uint64_t number = 6;
  for (const std::string& bytes : datagrams_of(ranks, number + 1)) {
    EXPECT_LE(bytes.size(), Datagrams::kMost);
    const auto part = from_datagram(bytes, kKey, 20);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->sender, 3);
    EXPECT_EQ(part->number, ++number);
    heard.insert(heard.end(), part->ranks.begin(), part->ranks.end());
  }
  ASSERT_EQ(heard.size(), 20U);
  EXPECT_EQ(heard[19].rank, 19);
  EXPECT_EQ(heard[19].pid, 119);
  EXPECT_EQ(heard[19].host, "b");
  EXPECT_EQ(heard[19].at.step, 7);
  EXPECT_EQ(heard[19].at.phase, RunPhase::Save);
  EXPECT_EQ(heard[19].at.begun, ranks[19].at.begun);
  EXPECT_NEAR(heard[3].idle_seconds(), 4, 1);
  EXPECT_NEAR(heard[3].silent_seconds(), 2, 1);
  EXPECT_EQ(datagrams_of({}).size(), 1U);
}

// Any process that can reach a port can send to it.
TEST(WorldMessages, OnlyMessagesOfThisRunAreTaken) {
  const std::vector<NodeStatus::Entry> one = {rank_of(3)};
  const std::string bytes = datagrams_of(one).at(0);
  ASSERT_TRUE(from_datagram(bytes, kKey, 4));
  EXPECT_FALSE(from_datagram(bytes, {11, 13}, 4));
  EXPECT_FALSE(from_datagram(bytes, kKey, 3)) << "no such rank";
  EXPECT_FALSE(from_datagram(bytes + "x", kKey, 4));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(from_datagram(bytes.substr(0, length), kKey, 4)) << length;
  }
  std::vector<NodeStatus::Entry> bad(8, rank_of(1));
  bad[0].rank = -1, bad[1].pid = 0, bad[2].at.phase = RunPhase{kPhases}, bad[3].at.axis = MeshAxis{kMeshAxes};
  bad[4].at.collective = Collective{kCollectives}, bad[5].host = "a\x1b[2J", bad[6].host = "",
  bad[7].process_state = '\n';
  for (const auto& entry : bad) {
    EXPECT_FALSE(from_datagram(datagrams_of({{entry}}).at(0), kKey, 4)) << &entry - bad.data();
  }
}

TEST(WorldMessages, AChangeOfAnyBitIsRefused) {
  const std::vector<NodeStatus::Entry> one = {rank_of(3)};
  const std::string bytes = datagrams_of(one).at(0);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      EXPECT_FALSE(from_datagram(changed, kKey, 4)) << "bit " << bit << " of byte " << at;
    }
  }
}

TEST(WorldMessages, DoNotShowTheKey) {
  const std::vector<NodeStatus::Entry> one = {rank_of(3)};
  const RunKey key = {0x6b65796b65796b65, 0x7365637265742121};
  const std::string bytes = datagrams_of(one, 1, key).at(0);
  for (const uint64_t word : key) {
    const std::string part(reinterpret_cast<const char*>(&word), sizeof word);
    EXPECT_EQ(bytes.find(part), std::string::npos);
  }
}

// The first two from the paper (appendix A and its reference program); the others as `openssl mac ... SipHash` prints
// them.
TEST(SipHash, IsThatOfThePaper) {
  const SipKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text(1400, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i);
  EXPECT_EQ(siphash(text.substr(0, 15), key), 0xa129ca6149be45e5);
  EXPECT_EQ(siphash("", key), 0x726fdb47dd0e0e31);
  EXPECT_EQ(siphash(text.substr(0, 8), key), 0x93f5f5799a932462);
  EXPECT_EQ(siphash(text, key), 0x0ffe1f5977e1ffb8);
}

TEST(ReplayWindow, TakesEachNumberOnceInAnyOrderOfTheLatest) {
  ReplayWindow window;
  EXPECT_FALSE(window.take(0));
  EXPECT_TRUE(window.take(2));
  EXPECT_TRUE(window.take(1));
  EXPECT_FALSE(window.take(1));
  EXPECT_FALSE(window.take(2));
  EXPECT_TRUE(window.take(65));
  EXPECT_FALSE(window.take(2)) << "has come";
  EXPECT_TRUE(window.take(3));
  EXPECT_TRUE(window.take(1000));
  EXPECT_FALSE(window.take(936)) << "too old to tell";
  EXPECT_TRUE(window.take(937));
  EXPECT_FALSE(window.take(937));
}

TEST(Ipv4Networks, AreNoneIfNoInterfaceHasTheName) {
  EXPECT_TRUE(ipv4_networks("no-such-interface").empty());
  EXPECT_LE(ipv4_networks("no-such-interface,0.0.0.0/0").size(), ipv4_networks().size());
}

int open_descriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(Datagrams, KeepNoSocketThatCannotBeBound) {
  const int before = open_descriptors();
  EXPECT_FALSE(Datagrams::at(inet_addr("192.0.2.1"))) << "an address of documentation, which no machine has";
  EXPECT_EQ(open_descriptors(), before);
}

TEST(NodeStatus, KeepsNoFileThatCannotBeMapped) {
  const int sealed = memfd_create("weft-heartbeats", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE), 0);
  const int before = open_descriptors();
  EXPECT_FALSE(NodeStatus::open(getpid(), sealed, 1));
  EXPECT_EQ(open_descriptors(), before);
  close(sealed);
}

TEST(NodeStatus, HoldsRanksOfOtherNodes) {
  const auto page = NodeStatus::create(2);
  std::vector<NodeStatus::Entry> ranks = {rank_of(5), rank_of(6, "c")};
  page->tell_of_others(ranks);
  auto others = page->others();
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[1].rank, 6);
  EXPECT_EQ(others[1].host, "c");
  EXPECT_EQ(others[1].at.step, 7);
  EXPECT_TRUE(page->read().empty());
  ranks.resize(1);
  page->tell_of_others(ranks);
  EXPECT_EQ(page->others().size(), 1U);
}

// Nodes of one rank each, whose watchdogs send messages over the loopback.
struct Node {
  std::shared_ptr<NodeStatus> page = NodeStatus::create(1);
  std::unique_ptr<WorldStatus> status;
  DatagramAddress address;
  Node(int rank, std::optional<DatagramAddress> rank0, int world) {
    auto datagrams = Datagrams::at(kHere);
    address = datagrams->address();
    status = std::make_unique<WorldStatus>(std::move(datagrams), rank0, kKey, rank, world);
    page->slot(0).rank = rank, page->slot(0).pid = getpid();
    page->slot(0).progressed_ns = NodeStatus::now_ns();
  }
};

TEST(WorldStatus, EveryNodeHearsOfTheOthers) {
  Node a(0, std::nullopt, 3), b(1, a.address, 3), c(2, a.address, 3);
  b.page->slot(0).state.step = 41;
  for (int i = 0; i < 3; ++i) {
    for (Node* node : {&b, &c, &a, &b, &c}) node->status->look(*node->page);
  }
  for (Node* node : {&a, &b, &c}) {
    auto others = node->page->others();
    ASSERT_EQ(others.size(), 2U);
    for (const auto& e : others) {
      EXPECT_NE(e.rank, node->page->slot(0).rank);
      EXPECT_EQ(e.at.step, e.rank == 1 ? 41 : 0);
      EXPECT_EQ(e.pid, getpid());
      EXPECT_FALSE(e.silent());
    }
  }
}

TEST(WorldStatus, StrangersAreNotHeard) {
  Node a(0, std::nullopt, 3), b(1, a.address, 3);
  const auto stranger = Datagrams::at(kHere);
  const std::vector<NodeStatus::Entry> lie = {rank_of(2, "nowhere")};
  stranger->send(datagrams_of(lie, 1, {0, 0}).at(0), a.address);
  stranger->send(std::string(2000, 'x'), a.address);
  stranger->send("", a.address);
  uint64_t last = 0;
  stranger->send(to_datagrams(kKey, 0, last, lie).at(0), b.address);  // rank 0's, but not from its node
  stranger->send(datagrams_of(lie).at(0), b.address);                 // of a rank that answers nobody
  for (Node* node : {&b, &a, &b}) node->status->look(*node->page);
  ASSERT_EQ(a.page->others().size(), 1U);
  EXPECT_EQ(a.page->others()[0].rank, 1);
  ASSERT_EQ(b.page->others().size(), 1U);
  EXPECT_EQ(b.page->others()[0].rank, 0);
}

// Who stands between two nodes sees their datagrams, and may send them again from another address.
TEST(WorldStatus, WhatIsSentAgainIsNeitherTakenNorAnswered) {
  Node a(0, std::nullopt, 4);
  const auto node = Datagrams::at(kHere), stranger = Datagrams::at(kHere);
  std::vector<NodeStatus::Entry> rank = {rank_of(3)};
  const std::string first = datagrams_of(rank, 1).at(0);
  rank[0].at.step = 8;
  const std::string second = datagrams_of(rank, 2).at(0);
  node->send(first, a.address);
  node->send(second, a.address);
  a.status->look(*a.page);
  ASSERT_EQ(a.page->others().size(), 1U);
  EXPECT_TRUE(node->receive());
  for (const std::string& again : {first, second}) stranger->send(again, a.address);
  a.status->look(*a.page);
  EXPECT_FALSE(stranger->receive());
  EXPECT_EQ(a.page->others()[0].at.step, 8);
}

// Until rank 0 answers, each look sends a message; then one each half second is enough.
TEST(WorldStatus, ARankThatHasMetRank0SendsSeldom) {
  const auto rank0 = Datagrams::at(kHere);
  Node b(1, rank0->address(), 2);
  const auto received = [&] {
    int count = 0;
    for (; rank0->receive(); ++count) continue;
    return count;
  };
  for (int i = 0; i < 40; ++i) b.status->look(*b.page);
  EXPECT_EQ(received(), 40);
  uint64_t last = 0;
  rank0->send(to_datagrams(kKey, 0, last, {}).at(0), b.address);
  for (int i = 0; i < 40; ++i) b.status->look(*b.page);
  EXPECT_TRUE(b.status->met());
  EXPECT_LT(received(), 40);
}

// There are more ranks than a page has room for: it holds the ranks that keep others waiting.
TEST(WorldStatus, TheNodesThatKeepOthersWaitingAreKnown) {
  constexpr int kWorld = 300;
  Node a(0, std::nullopt, kWorld), b(1, a.address, kWorld);
  const auto others = Datagrams::at(kHere);
  std::vector<NodeStatus::Entry> ranks;
  for (int i = 2; i < kWorld; ++i) {
    ranks.push_back(rank_of(i));
    ranks.back().at.waiting = i != 177;
  }
  a.page->slot(0).state.waiting = true;
  for (const std::string& bytes : datagrams_of(ranks)) others->send(bytes, a.address);
  const auto asks = Datagrams::at(kHere);
  uint64_t last = 0;
  asks->send(to_datagrams(kKey, 299, last, std::vector{rank_of(299)}).at(0), a.address);
  for (Node* node : {&b, &a, &b}) node->status->look(*node->page);
  size_t told = 0;
  while (const auto answer = asks->receive()) told += from_datagram(answer->bytes, kKey, kWorld)->ranks.size();
  EXPECT_EQ(told, NodeStatus::kOthers);
  for (Node* node : {&a, &b}) {
    const auto known = node->page->others();
    EXPECT_EQ(known.size(), NodeStatus::kOthers);
    EXPECT_EQ(std::ranges::count(known, 177, &NodeStatus::Entry::rank), 1);
    EXPECT_EQ(std::ranges::count(known, 0, &NodeStatus::Entry::rank), node == &b);  // others may rely on rank 0
  }
}

// Two watchdogs of ranks on two nodes. The report of the first one is kept here.
struct TwoNodes {
  std::shared_ptr<Heartbeat> first = std::make_shared<Heartbeat>(), second = std::make_shared<Heartbeat>();
  std::shared_ptr<NodeStatus> page = NodeStatus::create(1), theirs = NodeStatus::create(1);
  Heartbeat::Scope second_is_at;
  std::mutex mutex;
  std::string report;
  std::unique_ptr<Watchdog> a, b;

  explicit TwoNodes(const PhaseBudgets& budgets, RunPhase of_second = RunPhase::Init)
      : second_is_at(*second, of_second) {
    a = std::make_unique<Watchdog>(
        first, WatchdogOptions{.budgets = budgets, .poll_seconds = 0.01, .on_hang = [this](const std::string& text) {
                                 const std::lock_guard lock(mutex);
                                 report = text;
                               }});
    b = std::make_unique<Watchdog>(
        second, WatchdogOptions{.budgets = {.init_seconds = 0, .step_seconds = 0}, .poll_seconds = 0.01});
    for (const auto& heartbeat : {first, second}) heartbeat->place(MeshAxis::Dp, 0, 2);
    a->join(0, 0, page);
    b->join(1, 0, theirs);
    auto mine = Datagrams::at(kHere);
    const DatagramAddress rank0 = mine->address();
    a->tell_other_nodes(std::make_unique<WorldStatus>(std::move(mine), std::nullopt, kKey, 0, 2));
    b->tell_other_nodes(std::make_unique<WorldStatus>(Datagrams::at(kHere), rank0, kKey, 1, 2));
    while (page->others().empty()) std::this_thread::sleep_for(milliseconds(1));
    first->wait_for(MeshAxis::Dp, Collective::AllReduce, first->begin(MeshAxis::Dp, Collective::AllReduce));
  }
  std::string reported() {
    const std::lock_guard lock(mutex);
    return report;
  }
  std::string wait_for_report() {
    for (int i = 0; i < 6000 && reported().empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
    return reported();
  }
};

TEST(WatchdogOfNodes, SlowOnAnotherNodeIsNotHung) {
  TwoNodes nodes({.init_seconds = 2.5});
  for (int i = 0; i < 400; ++i) {
    nodes.second->beat();  // computes for longer than the budget
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(nodes.reported(), "");
  EXPECT_THAT(nodes.wait_for_report(), HasSubstr("not arrived: rank 1 ("));  // the rank stands still from here on
}

// Its last message was from a phase that may take any time; that messages stop shows that the node does not work.
TEST(WatchdogOfNodes, ASilentNodeIsNotAtWork) {
  TwoNodes nodes({.init_seconds = 0.2, .save_seconds = 0}, RunPhase::Save);
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_EQ(nodes.reported(), "");
  nodes.b.reset();
  EXPECT_THAT(nodes.wait_for_report(), HasSubstr("pid " + std::to_string(getpid()) + ", no message for "));
}

// From then on the silence of rank 0 is noticed: that of a rank of which nothing was ever heard is not.
TEST(WatchdogOfNodes, Rank0IsKnownToWhoHasMetIt) {
  TwoNodes nodes({.init_seconds = 0, .step_seconds = 0});
  EXPECT_TRUE(nodes.a->meets_rank0_within(0));
  EXPECT_TRUE(nodes.b->meets_rank0_within(60));
  ASSERT_EQ(nodes.theirs->others().size(), 1U);
  EXPECT_EQ(nodes.theirs->others()[0].rank, 0);
}

TEST(WatchdogOfNodes, SilenceOfRank0IsSaid) {
  const auto silent = Datagrams::at(kHere);
  const std::shared_ptr<NodeStatus> page = NodeStatus::create(1);
  Watchdog watchdog(std::make_shared<Heartbeat>(), WatchdogOptions{.budgets = {.init_seconds = 0, .step_seconds = 0}});
  EXPECT_TRUE(watchdog.meets_rank0_within(0)) << "it sends nothing";
  watchdog.join(1, 0, page);
  watchdog.tell_other_nodes(std::make_unique<WorldStatus>(Datagrams::at(kHere), silent->address(), kKey, 1, 2));
  EXPECT_FALSE(watchdog.meets_rank0_within(0.2));
}

// A rank that encodes for another beats while it waits for texts, in no collective.
TEST(WatchdogOfNodes, ASilentLeaderEndsTheRankThatWorksForIt) {
  TwoNodes nodes({.init_seconds = 0, .step_seconds = 0.1});
  nodes.a->rely_on(1);
  const auto beats_for = [&](int centiseconds) {
    for (int i = 0; i < centiseconds && nodes.reported().empty(); ++i) {
      nodes.first->beat();
      std::this_thread::sleep_for(milliseconds(10));
    }
  };
  beats_for(300);
  EXPECT_EQ(nodes.reported(), "");
  nodes.b.reset();
  beats_for(6000);
  EXPECT_THAT(nodes.reported(), HasSubstr("nothing is heard of the rank that this one works for: rank 1 ("));
}

}  // namespace
}  // namespace weft
