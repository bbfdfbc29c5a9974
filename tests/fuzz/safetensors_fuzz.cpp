#include "tests/fuzz/safetensors_fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace weft::test {
namespace {

// A file in memory, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : descriptor_(memfd_create("safetensors", MFD_CLOEXEC)) {
    require<InternalError>(descriptor_ >= 0, "no file in memory");
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    require<InternalError>(written == static_cast<ssize_t>(bytes.size()), "not written");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  fs::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

bool reads_safetensors(std::span<const uint8_t> bytes) {
  const MemoryFile memory(bytes);
  try {
    const SafetensorsFile file(memory.path());
    uint64_t end = 0;
    for (const StoredTensor& tensor : file.header().tensors) {
      require<InternalError>(tensor.begin == end && tensor.end >= end, "tensors are not in order");
      end = tensor.end;
      if (tensor.type == StoredType::Other) continue;
      std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
      file.read(tensor, values);
    }
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace weft::test
