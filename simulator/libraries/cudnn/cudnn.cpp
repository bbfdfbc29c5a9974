// SPDX-License-Identifier: Apache-2.0
// cuDNN, which is not simulated: it is found, and refuses every computation by name.
#include <cudnn.h>

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
cudnnStatus_t cudnnCreate(cudnnHandle_t*) { return CUDNN_STATUS_NOT_SUPPORTED; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_NOT_SUPPORTED; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_NOT_SUPPORTED; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "cuDNN is not simulated"; }

}  // extern "C"
