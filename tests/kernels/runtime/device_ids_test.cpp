// SPDX-License-Identifier: Apache-2.0
// By their ids ranks see whether they share a device, also through containers that number devices in their own way.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "kernels/device/devices.h"
#include "kernels/device/ids.h"

namespace weft {
namespace {

TEST(CudaDeviceIds, AreTheUuidsThatTheDriversToolsPrint) {
  const std::vector<std::string> ids = cuda_device_ids();
  if (ids.size() < 2) GTEST_SKIP() << "needs two CUDA devices";
  const std::regex uuid("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  for (const std::string& id : ids) EXPECT_TRUE(std::regex_match(id, uuid)) << id;
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_EQ(cuda_devices().names.size(), ids.size());
  EXPECT_EQ(cuda_devices().driver.rfind("driver for CUDA ", 0), 0U) << cuda_devices().driver;
}

}  // namespace
}  // namespace weft
