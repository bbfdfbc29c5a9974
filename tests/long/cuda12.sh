#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds weft with CUDA 12.4 from NVIDIA's Python wheels, for sm_80 and sm_90: cuda12.sh SCRATCH
# The wheels have the headers, the libraries and ptxas, but no nvcc: clang++ 19 compiles. No kernel runs: the simulated
# device expects lanes that have parted where nvcc lets them meet. What nvcc 12 would say to the sources is not tested.
set -euo pipefail
scratch=$1 targets=(weft weft_simulated_{cudart,cublasLt,cuda,nccl})
[[ -z $WEFT_LONG_SHORT ]] || targets=(weft_kernels weft_parallel)
command -v clang++-19 >/dev/null || { echo "clang++-19 is not here"; exit 77; }
source launch/common.sh

wheels=$PWD/build/wheels-cuda12 toolkit=$PWD/build/wheels-cuda12/toolkit version=12.4.131
pinned=(nvidia-cuda-nvcc-cu12=="$version" nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-cccl-cu12==12.4.99
  nvidia-cublas-cu12==12.4.5.8 nvidia-nccl-cu12==2.21.5)

# Lays the wheels out like an installed toolkit. CMake asks nvcc for nothing but the version when clang compiles.
assemble() {
  local part
  mkdir -p "$toolkit"/{bin,include,lib64}
  rm -f "$wheels"/nvidia/*/include/__init__.py # each wheel has one
  for part in cuda_nvcc cuda_runtime cuda_cccl cublas nccl; do cp -rs "$wheels/nvidia/$part/include/." "$toolkit/include"; done
  cp -rs "$wheels/nvidia/cuda_nvcc/nvvm" "$toolkit/"
  cp "$wheels/nvidia/cuda_nvcc/bin/ptxas" tests/long/cuda12/fatbinary.py "$toolkit/bin/"
  mv "$toolkit/bin/fatbinary.py" "$toolkit/bin/fatbinary"
  printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s"\n' "${version%.*}" "$version" >"$toolkit/bin/nvcc"
  chmod +x "$toolkit"/bin/*
  ln -s "$wheels/nvidia/cuda_runtime/lib/libcudart.so.12" "$toolkit/lib64/"
  ln -s libcudart.so.12 "$toolkit/lib64/libcudart.so"
}

if [[ ! -x $toolkit/bin/nvcc ]]; then
  rm -rf "$wheels"
  say "CUDA ${version%.*} from wheels, into $wheels"
  python3 -m pip install --quiet --no-deps --no-compile --target "$wheels" "${pinned[@]}" 2>"$scratch/pip" ||
    { cat "$scratch/pip"; echo "the wheels of CUDA 12.4 cannot be fetched"; exit 77; }
  assemble
fi

# has_all LIBRARY SOURCE: the library has every function that the source looks up by name.
has_all() {
  local name count=0
  nm -D --defined-only "$1" | sed -E 's/.* //; s/@.*//' | sort -u >"$scratch/symbols"
  while read -r name; do
    grep -qxF "$name" "$scratch/symbols" || { echo "$1 has no $name, which $2 looks up"; exit 1; }
    count=$((count + 1))
  done < <(grep -oE 'find\("[A-Za-z]+' "$2" | sed 's/.*"//')
  ((count > 0)) || { echo "$2 looks up no function"; exit 1; }
}
has_all "$wheels/nvidia/cublas/lib/libcublasLt.so.12" kernels/cuda/products/blas_library.cpp
has_all "$wheels/nvidia/nccl/lib/libnccl.so.2" parallel/nccl/library.cpp

build=build/cuda12
cmake -S . -B "$build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DWEFT_UNITY=ON -DWEFT_CUDA=ON -DWEFT_NCCL=ON -DWEFT_CUDNN=OFF \
  -DCMAKE_CUDA_COMPILER=clang++-19 -DCUDAToolkit_ROOT="$toolkit" >"$scratch/configure" 2>&1 || { cat "$scratch/configure"; exit 1; }
grep -E '^-- weft: CUDA 12\.4\.' "$scratch/configure"
cmake --build "$build" --parallel "$(build_jobs)" --target "${targets[@]}" >"$scratch/build" || { tail -n 40 "$scratch/build"; exit 1; }

# No header of another CUDA was read, and each object with device code holds what ptxas made for both architectures.
others=$(ninja -C "$build" -t deps | grep -E '/(cuda_runtime_api|driver_types|cublasLt|nccl)\.h$' | grep -vF wheels-cuda12 | sort -u || true)
[[ -z $others ]] || { echo "headers of another CUDA were read: $others"; exit 1; }
objects=0 wanted='PTX of compute_80,machine code of sm_80,machine code of sm_90'
while read -r object; do
  [[ $("$toolkit/bin/fatbinary" --list "$object" | LC_ALL=C sort -u | paste -sd, -) == "$wanted" ]] ||
    { echo "$object does not hold $wanted"; exit 1; }
  objects=$((objects + 1))
done < <(find "$build/kernels" -name '*.cu.o')
((objects > 0)) || { echo "no kernel was compiled"; exit 1; }
echo "objects $objects" >&3

# The program with the simulated libraries of these names, and with the real runtime.
doctor() { LD_LIBRARY_PATH=$1 "$build/weft" doctor | grep -E '^CUDA '; }
if [[ -z $WEFT_LONG_SHORT ]]; then
  doctor "$build/simulated" | grep 'CUDA 12\.4, code .*; 0: simulated device'
  WEFT_CUDA_DEVICE_DRIVER=11080 doctor "$build/simulated" |
    grep 'the driver for CUDA 11\.8 is older than the CUDA 12\.4 .*525 or later'
  doctor "$toolkit/lib64" | grep 'CUDA 12\.4, code '
fi
echo "$objects objects of kernels for sm_80 and sm_90 by ptxas 12.4"
