// SPDX-License-Identifier: Apache-2.0
// One matrix product with the arguments of cublasLtMatmul: the manual's rules, and the arithmetic.
#pragma once

#include <array>

#include "simulator/libraries/cublaslt/descriptors.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

// Algorithms differ in the order of their sums (the inner dimension in `parts`, one after the other), in the alignment
// that they need and in the workspace that they write, so that code which changes its algorithm is found by its bits,
// and code which shares a workspace between streams by a race.
struct Algorithm {
  int32_t id = 0;
  int32_t parts = 1;
  uint32_t alignment = 2;  // bytes, for all matrices and for their lines
  uint64_t workspace = 0;  // bytes
  bool in_place = false;   // parts are added into the result, in its type, in the order in which they end
  bool in_type = false;    // parts' sums are kept in the result's type
  // What the program promised when it asked: powers of two that divide the addresses, in bytes.
  std::array<uint32_t, 6> promised = {1, 1, 1, 1, 1, 1};  // of A, B, C, D, bias and auxiliary matrix
};

struct Product {
  ProductDescriptor how;
  LayoutDescriptor a, b, c, d;
  const void *a_at = nullptr, *b_at = nullptr, *c_at = nullptr;
  void* d_at = nullptr;
  float alpha = 1, beta = 0;
  Algorithm algorithm;
  void* workspace = nullptr;
  uint64_t draw = 0;  // of the order in which parts end

  size_t m() const { return d.rows; }
  size_t n() const { return d.columns; }
  size_t k() const { return how.transpose_a == CUBLAS_OP_N ? a.columns : a.rows; }
};

// Whether the descriptors, without addresses, allow a product.
cublasStatus_t check_descriptors(const Product& product);
// The largest power of two, up to 256, that divides an address.
uint32_t alignment_of(const void* at);
// Reports addresses that are less aligned than what the program promised when it asked for the algorithm.
void check_promises(const Product& product, Memory& memory);
// Checks the addresses of a product whose descriptors were checked.
cublasStatus_t check_addresses(const Product& product);

// Computes the product as the operation that executes now. Every operand is checked like a kernel's accesses.
void run(const Product& product, Memory& memory);

}  // namespace weft::cuda_device
