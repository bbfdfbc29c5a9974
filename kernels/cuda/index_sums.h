#pragma once
#include "kernels/backend/scratch.h"
#include "kernels/cuda/stream.h"
#include "kernels/step_state.h"

namespace weft::cuda {

// The gradient of a table whose rows were looked up.
struct IndexSums {
  Tensor indices;     // i32[rows]: which row of the table each row of dy belongs to
  Tensor order;       // i32[rows]: the rows sorted by index, then by row
  int64_t first = 0;  // the index of the table's row 0; indices outside the table count for nothing
  double scale = 1;
  Tensor table;  // f32[.., width], or absent: then nothing is done
  Accumulate mode = Accumulate::Add;
};

// table[i] (+)= scale * the sum of dropout(dy[r]) over the rows r of index i, in an order that the indices alone give;
// without atomics. Works in index_sums_bytes() of scratch.
size_t index_sums_bytes(const Tensor& dy);
void sum_by_index(const Stream& stream, const Tensor& dy, const Dropout& dropout, const IndexSums& sums,
                  Scratch scratch);

}  // namespace weft::cuda
