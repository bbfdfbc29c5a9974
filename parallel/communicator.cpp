#include "parallel/communicator.h"

#include <cstring>

namespace weft {

double Traffic::exposed_seconds() const {
  double sum = 0;
  for (const auto& [name, e] : entries) sum += e.wait_seconds;
  return sum;
}

int64_t Traffic::bytes() const {
  int64_t sum = 0;
  for (const auto& [name, e] : entries) sum += e.bytes;
  return sum;
}

namespace {
// A tensor over memory that the caller keeps for the call.
Tensor borrow(void* data, int64_t count, DType dtype) {
  const auto bytes = static_cast<size_t>(count) * size_of(dtype);
  return {std::make_shared<Storage>(data, bytes, Device{}, nullptr), 0, Shape{count}, dtype};
}
}  // namespace

void Communicator::all_reduce_host(double* values, int64_t count, ReduceOp op) {
  all_reduce(borrow(values, count, DType::F64), op);
}

std::string Communicator::broadcast_text(const std::string& text, int root) {
  int64_t length = static_cast<int64_t>(text.size());
  broadcast(borrow(&length, 1, DType::I64), root);
  const int64_t words = (length + 7) / 8;
  std::string buffer(static_cast<size_t>(words * 8), '\0');
  if (rank() == root) std::memcpy(buffer.data(), text.data(), text.size());
  if (words > 0) broadcast(borrow(buffer.data(), words, DType::I64), root);
  buffer.resize(static_cast<size_t>(length));
  return buffer;
}

}  // namespace weft
