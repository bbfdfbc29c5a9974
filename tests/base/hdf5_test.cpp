// SPDX-License-Identifier: Apache-2.0
#include "base/hdf5.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

class Hdf5Files : public testing::Test {
 protected:
  // A group with an array of 5 u16 (its bytes 0..9) and one attribute of each kind.
  fs::path make(const std::string& name) {
    const fs::path path = directory_ / name;
    Hdf5File file = Hdf5File::create(path);
    file.create_group("/group");
    const int64_t shape[] = {5};
    file.create_array("/group/numbers", Hdf5Type::U16, shape);
    file.set_attribute("/", "count", int64_t{-7});
    file.set_attribute("/group", "rate", 0.25);
    file.set_attribute("/group/numbers", "unit", "møller");
    const Hdf5Array array = file.array("/group/numbers");
    file.close();
    File raw(path, File::Mode::ReadWrite);
    char bytes[10];
    std::iota(bytes, bytes + 10, char{0});
    raw.write_at(array.offset, bytes, sizeof bytes);
    return path;
  }

  const Scratch scratch_;
  const fs::path directory_ = scratch_.path();
};

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Hdf5Files, StructureAndAttributesComeBack) {
  const Hdf5File file = Hdf5File::open(make("a.h5"));
  EXPECT_EQ(file.int_attribute("/", "count"), -7);
  EXPECT_EQ(file.double_attribute("/group", "rate"), 0.25);
  EXPECT_EQ(file.string_attribute("/group/numbers", "unit"), "møller");
  EXPECT_TRUE(file.has_attribute("/", "count"));
  EXPECT_FALSE(file.has_attribute("/", "rate"));
  EXPECT_TRUE(file.exists("/group/numbers"));
  EXPECT_FALSE(file.exists("/numbers"));
  EXPECT_EQ(file.children("/"), std::vector<std::string>{"group"});
}

TEST_F(Hdf5Files, ArrayBytesAreAtItsOffset) {
  const fs::path path = make("a.h5");
  const Hdf5Array array = Hdf5File::open(path).array("/group/numbers");
  EXPECT_EQ(array.type, Hdf5Type::U16);
  EXPECT_EQ(array.shape, std::vector<int64_t>{5});
  EXPECT_EQ(array.bytes, 10u);
  const std::string all = read_file(path);
  EXPECT_EQ(all.substr(array.offset, 10), std::string("\0\1\2\3\4\5\6\7\10\11", 10));
}

TEST_F(Hdf5Files, EqualContentIsEqualBytes) { EXPECT_EQ(read_file(make("a.h5")), read_file(make("b.h5"))); }

TEST_F(Hdf5Files, EmptyArrayHasNoBytes) {
  const fs::path path = directory_ / "empty.h5";
  Hdf5File file = Hdf5File::create(path);
  const int64_t shape[] = {0};
  file.create_array("/none", Hdf5Type::U64, shape);
  file.close();
  EXPECT_EQ(Hdf5File::open(path).array("/none").bytes, 0u);
}

TEST_F(Hdf5Files, ForeignAndTruncatedFilesAreNamed) {
  const fs::path text = directory_ / "text.h5";
  write_file_atomically(text, "this is not HDF5 at all");
  EXPECT_NE(error_of([&] { Hdf5File::open(text); }).find("text.h5: open the file: HDF5 says: "), std::string::npos);
  const fs::path path = make("a.h5");
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_NE(error_of([&] { Hdf5File::open(path); }).find("truncated"), std::string::npos);
  EXPECT_NE(error_of([&] { Hdf5File::open(directory_ / "no.h5"); }).find("No such file"), std::string::npos);
}

TEST_F(Hdf5Files, MissingAndIllTypedAttributesAreNamed) {
  const Hdf5File file = Hdf5File::open(make("a.h5"));
  EXPECT_NE(error_of([&] { file.int_attribute("/", "nothing"); }).find("attribute nothing of /"), std::string::npos);
  EXPECT_NE(error_of([&] { file.int_attribute("/group", "rate"); }).find("integer"), std::string::npos);
  EXPECT_NE(error_of([&] { file.string_attribute("/", "count"); }).find("string"), std::string::npos);
  EXPECT_NE(error_of([&] { file.array("/group"); }).find("array /group"), std::string::npos);
}

TEST_F(Hdf5Files, ChunkedArraysAreRefused) {
  const fs::path path = directory_ / "chunked.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t extent = 8;
  const hid_t space = H5Screate_simple(1, &extent, nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 1, &extent);
  const hid_t array = H5Dcreate2(file, "/x", H5T_STD_U16LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Dclose(array), H5Pclose(creation), H5Sclose(space), H5Fclose(file);
  EXPECT_NE(error_of([&] { Hdf5File::open(path).array("/x"); }).find("contiguous"), std::string::npos);
}

TEST_F(Hdf5Files, ErrorsPrintNothing) {
  testing::internal::CaptureStderr();
  error_of([&] { Hdf5File::open(make("a.h5")).int_attribute("/", "nothing"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Hdf5Files, UnwritableTargetIsAnError) {
  EXPECT_NE(error_of([&] { Hdf5File::create(directory_ / "no" / "a.h5"); }).find("create the file"), std::string::npos);
}

TEST_F(Hdf5Files, LargeArraysBeginWhereTheyAreAskedTo) {
  const fs::path path = directory_ / "aligned.h5";
  Hdf5File file = Hdf5File::create(path, 4096);
  const int64_t large[] = {5000}, small[] = {5};
  for (const char* name : {"/a", "/b", "/c"}) file.create_array(name, Hdf5Type::U8, large);
  file.create_array("/small", Hdf5Type::U8, small);
  for (const char* name : {"/a", "/b", "/c"}) EXPECT_EQ(file.array(name).offset % 4096, 0u) << name;
  EXPECT_LT(file.array("/small").offset, 4096u);
}

}  // namespace
}  // namespace weft
