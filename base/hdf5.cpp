// SPDX-License-Identifier: Apache-2.0
#include "base/hdf5.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace weft {

namespace {

using Space = Hdf5Handle<H5Sclose>;
using Type = Hdf5Handle<H5Tclose>;
using Properties = Hdf5Handle<H5Pclose>;
using Object = Hdf5Handle<H5Oclose>;
using Group = Hdf5Handle<H5Gclose>;
using Array = Hdf5Handle<H5Dclose>;
using Attribute = Hdf5Handle<H5Aclose>;

// The library prints its error stack unless that is switched off for each thread. The destructor restores the setting
// for other users of HDF5 in this process.
class Quiet {
 public:
  Quiet() {
    // A file that could not be flushed, on a full disk, would be flushed again when the process ends, and HDF5 crashes
    // there (1.10). Every file is closed, and its close checked, by its owner.
    static const bool without_atexit = H5dont_atexit() >= 0;
    static_cast<void>(without_atexit);

    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

herr_t collect_message(unsigned, const H5E_error2_t* error, void* into) {
  auto& messages = *static_cast<std::vector<std::string>*>(into);
  if (error->desc && *error->desc) messages.emplace_back(error->desc);
  return 0;
}

// HDF5's message for a failed write holds addresses and times beside the system's message: "..., error message = 'No
// space left on device', buf = 0x7f...".
std::string system_words(const std::string& message) {
  const std::string mark = "error message = '";
  const size_t from = message.find(mark);
  const size_t to = from == std::string::npos ? from : message.find('\'', from + mark.size());
  return to == std::string::npos ? message : message.substr(from + mark.size(), to - from - mark.size());
}

// The innermost cause first, then the outermost, which names the operation that failed.
[[noreturn]] void fail(const fs::path& path, const std::string& action) {
  std::vector<std::string> messages;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_message, &messages);
  std::string text = "no reason given";
  if (!messages.empty()) text = system_words(messages.front());
  if (messages.size() > 1 && messages.back() != messages.front()) text += " (" + messages.back() + ")";
  const bool full = text.find(std::strerror(ENOSPC)) != std::string::npos;
  throw DataError(fmt::format("{}: {}: HDF5 says: {}", path.string(), action, text),
                  full ? "free some space on that file system or choose another directory" : "");
}

template <class Handle>
Handle checked(hid_t id, const fs::path& path, const std::string& action) {
  if (id < 0) fail(path, action);
  return Handle(id);
}

void check(herr_t status, const fs::path& path, const std::string& action) {
  if (status < 0) fail(path, action);
}

hid_t file_type(Hdf5Type type) {
  switch (type) {
    case Hdf5Type::U8:
      return H5T_STD_U8LE;
    case Hdf5Type::U16:
      return H5T_STD_U16LE;
    case Hdf5Type::U32:
      return H5T_STD_U32LE;
    case Hdf5Type::U64:
      return H5T_STD_U64LE;
    case Hdf5Type::I32:
      return H5T_STD_I32LE;
    case Hdf5Type::I64:
      return H5T_STD_I64LE;
    case Hdf5Type::F32:
      return H5T_IEEE_F32LE;
    case Hdf5Type::F64:
      return H5T_IEEE_F64LE;
  }
  throw InternalError("no such HDF5 element type");
}

constexpr auto kAllTypes = std::to_array<Hdf5Type>({Hdf5Type::U8, Hdf5Type::U16, Hdf5Type::U32, Hdf5Type::U64,
                                                    Hdf5Type::I32, Hdf5Type::I64, Hdf5Type::F32, Hdf5Type::F64});

Properties untimed(hid_t kind, const fs::path& path) {
  auto properties = checked<Properties>(H5Pcreate(kind), path, "create properties");
  check(H5Pset_obj_track_times(properties.get(), false), path, "leave time stamps out");
  return properties;
}

Attribute open_attribute(hid_t file, const fs::path& path, const std::string& object, const std::string& name) {
  return checked<Attribute>(H5Aopen_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), path,
                            fmt::format("attribute {} of {}", name, object));
}

void write_attribute(hid_t file, const fs::path& path, const std::string& object, const std::string& name, hid_t disk,
                     hid_t memory, const void* value) {
  const Quiet quiet;
  const std::string action = fmt::format("write attribute {} of {}", name, object);
  const auto space = checked<Space>(H5Screate(H5S_SCALAR), path, action);
  const auto attribute = checked<Attribute>(
      H5Acreate_by_name(file, object.c_str(), name.c_str(), disk, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      path, action);
  check(H5Awrite(attribute.get(), memory, value), path, action);
}

// Reads a scalar attribute of the class `wanted` into `value`, whose type is `memory`.
void read_scalar(hid_t file, const fs::path& path, const std::string& object, const std::string& name,
                 H5T_class_t wanted, hid_t memory, void* value) {
  const Quiet quiet;
  const std::string action = fmt::format("attribute {} of {}", name, object);
  const Attribute attribute = open_attribute(file, path, object, name);
  const auto space = checked<Space>(H5Aget_space(attribute.get()), path, action);
  const auto type = checked<Type>(H5Aget_type(attribute.get()), path, action);
  require<DataError>(H5Sget_simple_extent_npoints(space.get()) == 1 && H5Tget_class(type.get()) == wanted,
                     "{}: {} is not the single {} that was expected", path.string(), action,
                     wanted == H5T_INTEGER ? "integer" : "number");
  check(H5Aread(attribute.get(), memory, value), path, action);
}

}  // namespace

size_t element_bytes(Hdf5Type type) {
  switch (type) {
    case Hdf5Type::U8:
      return 1;
    case Hdf5Type::U16:
      return 2;
    case Hdf5Type::U32:
    case Hdf5Type::I32:
    case Hdf5Type::F32:
      return 4;
    case Hdf5Type::U64:
    case Hdf5Type::I64:
    case Hdf5Type::F64:
      return 8;
  }
  throw InternalError("no such HDF5 element type");
}

Hdf5File Hdf5File::create(const fs::path& path, uint64_t alignment) {
  const Quiet quiet;
  const auto access = checked<Properties>(H5Pcreate(H5P_FILE_ACCESS), path, "create properties");
  check(H5Pset_file_locking(access.get(), false, true), path, "switch locking off");
  check(H5Pset_alignment(access.get(), alignment, alignment), path, "align arrays");
  const auto creation = untimed(H5P_FILE_CREATE, path);
  return {path, checked<FileHandle>(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), path,
                                    "create the file")};
}

Hdf5File Hdf5File::open(const fs::path& path) {
  const Quiet quiet;
  { const File readable(path, File::Mode::Read); }  // throws with errno's message if the file is missing or forbidden
  const auto access = checked<Properties>(H5Pcreate(H5P_FILE_ACCESS), path, "create properties");
  check(H5Pset_file_locking(access.get(), false, true), path, "switch locking off");
  return {path, checked<FileHandle>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path, "open the file")};
}

void Hdf5File::create_group(const std::string& group) {
  const Quiet quiet;
  const auto creation = untimed(H5P_GROUP_CREATE, path_);
  checked<Group>(H5Gcreate2(file_.get(), group.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), path_,
                 "create group " + group);
}

void Hdf5File::create_array(const std::string& path, Hdf5Type type, std::span<const int64_t> shape) {
  const Quiet quiet;
  const std::string action = "create array " + path;
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const auto space =
      checked<Space>(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), path_, action);
  const auto creation = untimed(H5P_DATASET_CREATE, path_);
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), path_, action);
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), path_, action);
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), path_, action);
  checked<Array>(
      H5Dcreate2(file_.get(), path.c_str(), file_type(type), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      path_, action);
}

void Hdf5File::set_attribute(const std::string& object, const std::string& name, int64_t value) {
  write_attribute(file_.get(), path_, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void Hdf5File::set_attribute(const std::string& object, const std::string& name, double value) {
  write_attribute(file_.get(), path_, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5File::set_attribute(const std::string& object, const std::string& name, std::string_view value) {
  const Quiet quiet;
  const auto type = checked<Type>(H5Tcopy(H5T_C_S1), path_, "write attribute " + name);
  const std::string terminated(value);
  check(H5Tset_size(type.get(), terminated.size() + 1), path_, "write attribute " + name);
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), path_, "write attribute " + name);
  write_attribute(file_.get(), path_, object, name, type.get(), type.get(), terminated.c_str());
}

Hdf5Array Hdf5File::array(const std::string& path) const {
  const Quiet quiet;
  const std::string action = "array " + path;
  const auto array = checked<Array>(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), path_, action);
  const auto creation = checked<Properties>(H5Dget_create_plist(array.get()), path_, action);
  require<DataError>(H5Pget_layout(creation.get()) == H5D_CONTIGUOUS && H5Pget_external_count(creation.get()) == 0,
                     "{}: array {} is not stored in one contiguous piece", path_.string(), path);
  const auto type = checked<Type>(H5Dget_type(array.get()), path_, action);
  const auto known = std::find_if(kAllTypes.begin(), kAllTypes.end(),
                                  [&](Hdf5Type t) { return H5Tequal(type.get(), file_type(t)) > 0; });
  require<DataError>(known != kAllTypes.end(), "{}: array {} has elements of a foreign type", path_.string(), path);

  const auto space = checked<Space>(H5Dget_space(array.get()), path_, action);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  check(rank, path_, action);
  std::vector<hsize_t> extent(static_cast<size_t>(rank));
  check(H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr), path_, action);

  Hdf5Array result{.type = *known, .shape = {extent.begin(), extent.end()}};
  hsize_t file_bytes = 0;
  check(H5Fget_filesize(file_.get(), &file_bytes), path_, action);
  uint64_t elements = 1;
  for (const hsize_t n : extent) {
    require<DataError>(n == 0 || elements <= file_bytes / n, "{}: array {} is larger than its file", path_.string(),
                       path);
    elements *= n;
  }
  result.bytes = elements * element_bytes(result.type);
  if (result.bytes == 0) return result;
  const haddr_t offset = H5Dget_offset(array.get());
  require<DataError>(offset != HADDR_UNDEF && offset <= file_bytes && result.bytes <= file_bytes - offset,
                     "{}: array {} of {} bytes leaves its file", path_.string(), path, result.bytes);
  result.offset = offset;
  return result;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  const Quiet quiet;
  return H5Aexists_by_name(file_.get(), object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

int64_t Hdf5File::int_attribute(const std::string& object, const std::string& name) const {
  int64_t value = 0;
  read_scalar(file_.get(), path_, object, name, H5T_INTEGER, H5T_NATIVE_INT64, &value);
  return value;
}

double Hdf5File::double_attribute(const std::string& object, const std::string& name) const {
  double value = 0;
  read_scalar(file_.get(), path_, object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, &value);
  return value;
}

std::string Hdf5File::string_attribute(const std::string& object, const std::string& name) const {
  const Quiet quiet;
  const std::string action = fmt::format("attribute {} of {}", name, object);
  const Attribute attribute = open_attribute(file_.get(), path_, object, name);
  const auto space = checked<Space>(H5Aget_space(attribute.get()), path_, action);
  const auto type = checked<Type>(H5Aget_type(attribute.get()), path_, action);
  require<DataError>(H5Sget_simple_extent_npoints(space.get()) == 1 && H5Tget_class(type.get()) == H5T_STRING &&
                         H5Tis_variable_str(type.get()) == 0,
                     "{}: {} is not the string of fixed length that was expected", path_.string(), action);
  std::string value(H5Tget_size(type.get()), '\0');
  check(H5Aread(attribute.get(), type.get(), value.data()), path_, action);
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

bool Hdf5File::exists(const std::string& object) const {
  const Quiet quiet;
  return object == "/" || H5Oexists_by_name(file_.get(), object.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Hdf5File::children(const std::string& group) const {
  const Quiet quiet;
  const auto opened = checked<Object>(H5Oopen(file_.get(), group.c_str(), H5P_DEFAULT), path_, "list " + group);
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  check(H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), path_, "list " + group);
  return names;
}

void Hdf5File::close() {
  const Quiet quiet;
  if (file_) check(H5Fclose(file_.release()), path_, "close the file");
}

}  // namespace weft
