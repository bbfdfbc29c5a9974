// SPDX-License-Identifier: Apache-2.0
// The device that a rank takes, given the devices that launchers let it see.
#include "parallel/device_places.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using Devices = std::vector<std::string>;
using Places = std::vector<int>;

std::vector<SeenDevices> each_of(const std::string& host, const std::vector<Devices>& seen) {
  std::vector<SeenDevices> ranks;
  for (const Devices& devices : seen) ranks.push_back({host, devices});
  return ranks;
}

// srun --gpus-per-node=4, mpirun: every rank sees all devices of its node.
TEST(DevicePlaces, AllSeenByAll) {
  const Devices first{"a", "b", "c", "d"}, second{"e", "f", "g", "h"};
  auto ranks = each_of("one", {4, first});
  for (const SeenDevices& rank : each_of("two", {4, second})) ranks.push_back(rank);
  EXPECT_EQ(divide_devices(ranks), (Places{0, 1, 2, 3, 0, 1, 2, 3}));
  // Fewer ranks than devices; and ranks that are placed round-robin over nodes (mpirun --map-by node).
  EXPECT_EQ(divide_devices(each_of("one", {2, first})), (Places{0, 1}));
  EXPECT_EQ(divide_devices(std::vector<SeenDevices>{{"one", first}, {"two", second}, {"one", first}, {"two", second}}),
            (Places{0, 0, 1, 1}));
}

// srun --gpus-per-task=1: CUDA_VISIBLE_DEVICES has one device for each rank.
TEST(DevicePlaces, EachSeesItsOwn) {
  EXPECT_EQ(divide_devices(each_of("one", {{"a"}, {"b"}, {"c"}})), (Places{0, 0, 0}));
}

// srun --gpu-bind=closest: each rank sees the devices of its half of the machine.
TEST(DevicePlaces, EachSeesTheNearest) {
  const Devices left{"a", "b"}, right{"c", "d"};
  EXPECT_EQ(divide_devices(each_of("one", {left, left, right, right})), (Places{0, 1, 0, 1}));
  EXPECT_EQ(divide_devices(each_of("one", {left, right, left, right})), (Places{0, 0, 1, 1}));
}

// Some launchers rotate the list, so that each rank's first device is its own.
TEST(DevicePlaces, EachSeesAllFromItsOwnOn) {
  EXPECT_EQ(divide_devices(each_of("one", {{"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}})), (Places{0, 0, 0}));
}

TEST(DevicePlaces, ADeviceForTwoRanksIsRefusedWithTheMap) {
  for (const auto& ranks : {each_of("one", {{"a"}, {"a"}}), each_of("one", {{"a", "b"}, {"b", "a"}, {"a", "b"}})}) {
    const std::string error = test::error_of([&] { divide_devices(ranks); });
    EXPECT_NE(error.find("several ranks"), std::string::npos) << error;
    EXPECT_NE(error.find("one: rank 0 a, rank 1 "), std::string::npos) << error;
  }
  // Two containers on one machine share a device.
  const std::string error = test::error_of([] {
    divide_devices(std::vector<SeenDevices>{{"one", {"a"}}, {"two", {"a"}}});
  });
  EXPECT_NE(error.find("one: rank 0 a\ntwo: rank 1 a"), std::string::npos) << error;
}

TEST(DevicePlaces, SharedDevicesAreDealtInTurnIfAllowed) {
  const auto three = each_of("one", {3, {"a", "b"}});
  const Places taken = divide_devices(three, SharedDevices::Allowed);
  EXPECT_EQ(taken, (Places{0, 1, 0}));
  EXPECT_TRUE(shares_device(three, taken, 0));
  EXPECT_FALSE(shares_device(three, taken, 1));
  EXPECT_TRUE(shares_device(three, taken, 2));
}

TEST(DevicePlaces, ARankWithoutADeviceIsNamed) {
  const std::string error = test::error_of([] { divide_devices(each_of("one", {{"a"}, {}})); });
  EXPECT_NE(error.find("rank 1 on one sees no CUDA device"), std::string::npos) << error;
}

}  // namespace
}  // namespace weft
