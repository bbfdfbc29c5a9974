// SPDX-License-Identifier: Apache-2.0
// The safetensors format: what is written is read back, and damaged files are refused by name.
#include "checkpoint/safetensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "checkpoint/safetensors/writer.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name) {
  for (const StoredTensor& tensor : file.header().tensors) {
    if (tensor.name != name) continue;
    std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
    file.read(tensor, values);
    return values;
  }
  return {};
}

TEST(Safetensors, WrittenIsRead) {
  const Scratch scratch;
  const std::vector<float> a = {1, -2.5f, 3e-40f, 1e30f, -0.0f, std::nanf("")}, b = {1, 1.00390625f, -65536};
  {
    SafetensorsWriter writer(scratch / "x.safetensors",
                             {{"a", StoredType::F32, {2, 3}},
                              {"none", StoredType::F32, {0, 4}},
                              {"b", StoredType::BF16, {3}},
                              {"one", StoredType::F32, {}}},
                             {{"format", "pt"}});
    writer.write(a);
    writer.write({});
    writer.write(b);
    writer.write(std::vector<float>{7});
    EXPECT_FALSE(fs::exists(scratch / "x.safetensors"));
    writer.finish();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "a temporary file is left";
  const SafetensorsFile file(scratch / "x.safetensors");
  EXPECT_EQ(file.header().metadata.at("format"), "pt");
  EXPECT_EQ(file.header().tensors.size(), 4u);
  const std::vector<float> read = values_of(file, "a");
  EXPECT_EQ(0, std::memcmp(read.data(), a.data(), a.size() * sizeof(float)));
  EXPECT_EQ(values_of(file, "b"), (std::vector<float>{1, 1, -65536}));  // halfway between two values: rounds to even
  EXPECT_EQ(values_of(file, "one"), std::vector<float>{7});
  std::vector<float> part(2);
  file.read(file.header().tensors.front(), part, 1);
  EXPECT_EQ(part[0], -2.5f);
}

TEST(Safetensors, AnUnfinishedFileLeavesNothing) {
  const Scratch scratch;
  {
    SafetensorsWriter writer(scratch / "x.safetensors", {{"a", StoredType::F32, {2}}}, {});
    EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("0 of 1 tensors"));
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(Safetensors, EveryHalfIsExact) {
  std::string data;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) data += {static_cast<char>(bits), static_cast<char>(bits >> 8)};
  const Scratch scratch;
  const std::string path =
      scratch.write("h", file_of(R"({"h":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}})", data));
  const std::vector<float> values = values_of(SafetensorsFile(path), "h");
  ASSERT_EQ(values.size(), 0x10000u);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
    const float sign = bits >> 15 != 0 ? -1.0f : 1.0f;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(values[bits]), fraction != 0) << bits;
      if (fraction == 0) {
        EXPECT_EQ(values[bits], sign * INFINITY);
      }
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(values[bits], static_cast<float>(sign * magnitude)) << bits;
    ASSERT_EQ(std::signbit(values[bits]), sign < 0) << bits;
  }
}

struct Damage {
  const char* header;
  size_t data;  // the number of bytes after the header
  const char* error;
};

TEST(Safetensors, DamagedHeadersAreRefusedByName) {
  const std::vector<Damage> cases = {
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 4, "no valid JSON"},
      {R"([1])", 0, "not an object of tensors"},
      {R"({"a":[[[[0]]]]})", 0, "within each other"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "\"a\" is there twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4, "\"shape\" is there twice"},
      {R"({"a":1})", 0, "tensor \"a\": expected an object"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "tensor \"a\": data_offsets is missing"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "tensor \"a\": shape is missing"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "tensor \"a\": dtype is missing"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, "members besides"},
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "tensor \"a\": unknown dtype \"F31\""},
      {R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4, "dtype: expected a text"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "shape: expected a list"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "shape: expected a size, got -1"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "shape: expected a size"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4, "a shape of 7 dims"},
      {R"({"a":{"dtype":"F32","shape":[2000000000000],"data_offsets":[0,4]}})", 4, "a dimension of"},
      {R"({"a":{"dtype":"F32","shape":[1073741824,1073741824,4],"data_offsets":[0,0]}})", 0, "more than 2^63 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "F32[2] takes 8 bytes, but it has 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "bytes 4 to 0 are not within"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, "bytes 0 to 4 are not within the 3 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551612]}})", 4, "are not within"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "expected [begin, end]"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "bytes 0 to 4, before tensor \"a\", belong to"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "its tensors end at byte 4 of 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "tensor \"b\" begins at byte 4, within the one before it"},
      {R"({"__metadata__":[]})", 0, "__metadata__: expected an object"},
      {R"({"__metadata__":{"a":1}})", 0, "__metadata__: \"a\": expected a text"},
      {"{\"\xff\":{}}", 0, "no valid JSON"},
  };
  const Scratch scratch;
  for (const Damage& damage : cases) {
    const std::string path = scratch.write("bad.safetensors", file_of(damage.header, std::string(damage.data, 'x')));
    const std::string error = error_of([&] { SafetensorsFile file{path}; });
    EXPECT_THAT(error, HasSubstr(damage.error)) << damage.header;
    EXPECT_THAT(error, HasSubstr(path)) << damage.header;
  }
}

TEST(Safetensors, DamagedFilesAreRefused) {
  const Scratch scratch;
  const auto error = [&](std::string_view bytes) {
    const std::string path = scratch.write("bad", bytes);
    return error_of([&] { SafetensorsFile file{path}; });
  };
  EXPECT_THAT(error(""), HasSubstr("0 bytes are too few"));
  EXPECT_THAT(error("1234567"), HasSubstr("7 bytes are too few"));
  EXPECT_THAT(error(std::string(8, '\0')), HasSubstr("no valid JSON"));
  EXPECT_THAT(error(std::string(8, '\xff')), HasSubstr("cut off, or no safetensors file"));
  EXPECT_THAT(error(file_of("{}", "").substr(0, 9)), HasSubstr("cut off"));
  EXPECT_THAT(error(file_of(std::string(SafetensorsFile::kMaxHeaderBytes + 1, ' '), "")), HasSubstr("at most"));
  EXPECT_THAT(error(file_of(std::string(1 << 20, '['), "")), HasSubstr("within each other"));
  EXPECT_THAT(error_of([&] { SafetensorsFile file{scratch / "none"}; }), HasSubstr("none"));
  EXPECT_THAT(error_of([&] { SafetensorsFile file{scratch.path()}; }), HasSubstr("not a file"));
}

TEST(Safetensors, OtherDtypesAreKnownAndNotRead) {
  const Scratch scratch;
  const std::string path =
      scratch.write("m", file_of(R"({"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", "abc"));
  const SafetensorsFile file(path);
  std::vector<float> values(3);
  EXPECT_THAT(error_of([&] { file.read(file.header().tensors[0], values); }),
              HasSubstr("tensor mask is BOOL; weft reads F32, BF16 and F16"));
}

struct ShardedSafetensors : testing::Test {
  void SetUp() override {
    write("one.safetensors", {"a", "b"});
    write("two.safetensors", {"c"});
  }
  void write(const std::string& file, const std::vector<std::string>& names) const {
    std::vector<TensorToStore> tensors;
    for (const std::string& name : names) tensors.push_back({name, StoredType::F32, {1}});
    SafetensorsWriter writer(scratch / file, tensors, {});
    for (const std::string& name : names) writer.write(std::vector<float>{static_cast<float>(name[0])});
    writer.finish();
  }
  std::string error(const std::string& index) const {
    scratch.write("model.safetensors.index.json", index);
    return error_of([&] { SafetensorsModel model{scratch.path()}; });
  }

  Scratch scratch;
};

TEST_F(ShardedSafetensors, AreRead) {
  scratch.write("model.safetensors.index.json",
                R"({"metadata":{"total_size":12},)"
                R"("weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"}})");
  const SafetensorsModel model(scratch.path());
  ASSERT_EQ(model.tensors().size(), 3u);
  EXPECT_EQ(model.bytes(), 12u);
  for (const auto& [name, place] : model.tensors()) {
    std::vector<float> value(1);
    model.read(place, value);
    EXPECT_EQ(value[0], static_cast<float>(name[0]));
  }
}

TEST_F(ShardedSafetensors, FilesThatContradictTheIndexAreRefused) {
  const std::string ab = R"("a":"one.safetensors","b":"one.safetensors")";
  EXPECT_THAT(error("[]"), HasSubstr("expected an object with weight_map"));
  EXPECT_THAT(error(R"({"weight_map":{}})"), HasSubstr("it names no tensor"));
  EXPECT_THAT(error(R"({"weight_map":{)" + ab + R"(,"c":"../two.safetensors"}})"), HasSubstr("no file of this"));
  EXPECT_THAT(error(R"({"weight_map":{)" + ab + R"(,"c":7}})"), HasSubstr("no file of this"));
  EXPECT_THAT(error(R"({"weight_map":{)" + ab + R"(,"c":"three.safetensors"}})"), HasSubstr("three.safetensors"));
  EXPECT_THAT(error(R"({"weight_map":{)" + ab + R"(,"c":"one.safetensors"}})"),
              HasSubstr("tensor \"c\" is not in one"));
  EXPECT_THAT(error(R"({"weight_map":{"a":"one.safetensors","c":"two.safetensors"}})"),
              HasSubstr("does not name tensor \"b\""));
  EXPECT_THAT(error(R"({"weight_map":{)" + ab + R"(,"a":"two.safetensors"}})"), HasSubstr("\"a\" is there twice"));
  write("two.safetensors", {"a"});
  EXPECT_THAT(error(R"({"weight_map":{)" + ab + R"(,"c":"two.safetensors"}})"), HasSubstr("is in"));
}

TEST(SafetensorsModel, NeedsAFile) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] { SafetensorsModel model{scratch.path()}; }),
              HasSubstr("neither model.safetensors nor model.safetensors.index.json"));
}

}  // namespace
}  // namespace weft
