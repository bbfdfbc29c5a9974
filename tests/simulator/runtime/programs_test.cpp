// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/programs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "simulator/ptx/readable_name.h"

namespace weft::cuda_device {
namespace {

// A fat binary as nvcc writes it, made of entries (kind, architecture, text, flags).
struct Entry {
  uint16_t kind;
  uint32_t architecture;
  std::string text;
  uint64_t flags = 0x11;
};
std::string fat_binary(const std::vector<Entry>& entries) {
  std::string body;
  const auto number = [](std::string& to, uint64_t value, size_t bytes) {
    to.append(reinterpret_cast<const char*>(&value), bytes);
  };
  for (const Entry& entry : entries) {
    std::string head;
    number(head, entry.kind, 2), number(head, 0x101, 2), number(head, 48, 4), number(head, entry.text.size() + 1, 8);
    number(head, 0, 4), number(head, 64, 4), number(head, 0, 2), number(head, 9, 2),
        number(head, entry.architecture, 4);
    number(head, 0, 4), number(head, 0, 4), number(head, entry.flags, 8);
    body += head + entry.text + '\0';
  }
  std::string whole;
  number(whole, 0xba55ed50, 4), number(whole, 1, 2), number(whole, 16, 2), number(whole, body.size(), 8);
  return whole + body;
}
std::string what(const std::vector<Entry>& entries) {
  const std::string image = fat_binary(entries);
  try {
    return ptx_of(image.data());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(FatBinary, GivesThePtxThatADeviceOf90Compiles) {
  EXPECT_EQ(what({{1, 80, "eighty"}, {2, 80, "machine"}}), "eighty");
  EXPECT_EQ(what({{1, 80, "eighty"}, {1, 90, "ninety"}, {1, 100, "hundred"}}), "ninety");
}
TEST(FatBinary, BinariesWithoutPtxAreRefusedWithTheBuildFlag) {
  EXPECT_EQ(what({{2, 90, "machine"}}),
            "the fat binary has no PTX that this device can run, only machine code of sm_90: compile with -gencode "
            "arch=compute_80,code=compute_80");
}
TEST(FatBinary, CompressedBinariesAreRefusedAndTheFlagIsNamed) {
  EXPECT_EQ(what({{1, 80, "zipped", 0x8011}}),
            "the PTX in the fat binary is compressed: compile with nvcc -no-compress");
}
TEST(FatBinary, OtherKindsAreRefused) {
  const std::string image(64, 'x');
  EXPECT_THROW(ptx_of(image.data()), std::runtime_error);
}

TEST(ReadableName, IsTheOneInTheSource) {
  EXPECT_EQ(readable_name("_Z4axpyfPKfPfi"), "axpy");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_14rowsIfLi4EEEvPT_"), "rows<float, 4>");
  EXPECT_EQ(readable_name("_Z4foldIL4Mode1EEvPf"), "fold<(Mode)1>");
  EXPECT_EQ(readable_name("plain"), "plain");
}

}  // namespace
}  // namespace weft::cuda_device
