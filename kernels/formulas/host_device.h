// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks a function of this folder, which nvcc compiles for the host and for devices. Each formula that the CPU's loops
// and CUDA's kernels share is written once here, for one element or one row; loops, vectors and the order of sums
// belong to the backends.
#ifdef __CUDACC__
#define WEFT_HOST_DEVICE __host__ __device__
#else
#define WEFT_HOST_DEVICE
#endif
