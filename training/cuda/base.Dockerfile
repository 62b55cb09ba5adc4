# A base for training/Dockerfile with CUDA 12.2, cuDNN 8.9 and NCCL 2.19, of packages from Debian and PyPI only, each pinned or
# checksummed; for sites that cannot reach NVIDIA's registry, and for `make test-long SUITE=image`. From the repository root:
#
#   docker build --file training/cuda/base.Dockerfile --tag localhost/cuda-base .
#   docker build --file training/Dockerfile --build-arg BASE_IMAGE=localhost/cuda-base --tag localhost/training .
#
# NVIDIA's wheels for CUDA 12 have no nvcc, so clang compiles; its code has not run on a GPU yet.
ARG BASE_IMAGE=debian:bookworm-20261005@sha256:2c037a04925515fdd6ea85ea14a682d0e79931f5e9f5d07b6dbfc6ba12f9e858
FROM ${BASE_IMAGE}

RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends clang-16 python3.11-venv \
    && rm -rf /var/lib/apt/lists/*

# As in NVIDIA's images: CUDA and cuDNN in one folder, NCCL in the system's.
COPY requirements/cuda.txt /tmp/
WORKDIR /usr/local/cuda
RUN set -e; \
    python3.11 -m venv /tmp/pip; \
    /tmp/pip/bin/pip install --no-cache-dir --no-compile --no-deps --require-hashes --requirement /tmp/cuda.txt \
        --target /tmp/wheels; \
    wheels=/tmp/wheels/nvidia; system="/usr/lib/$(uname -m)-linux-gnu"; \
    mkdir bin include lib64; \
    mv "${wheels}/nccl/include/"*.h /usr/include/; mv "${wheels}/nccl/lib/libnccl.so.2" "${system}/"; \
    mv "${wheels}/cuda_nvcc/bin/ptxas" bin/; mv "${wheels}/cu13/bin/fatbinary" bin/fatbinary-13; \
    mv "${wheels}/cuda_nvcc/nvvm" .; \
    # The newer wheel first: those of this CUDA replace its headers.
    for wheel in cuda_cccl cublas cuda_cupti cuda_nvrtc cudnn cufft curand cusolver cusparse nvjitlink cuda_nvcc cuda_runtime; do \
        cp --recursive "${wheels}/${wheel}/include/." include/; \
    done; \
    mv "${wheels}"/*/lib/*.so* lib64/; \
    rm -rf /tmp/pip /tmp/wheels /tmp/cuda.txt; \
    # The names that a linker looks for, and files without content that clang's own build of CUDA does not read.
    ln -s libcudart.so.12 lib64/libcudart.so; ln -s libnccl.so.2 "${system}/libnccl.so"; \
    ar rc lib64/libcudadevrt.a; touch include/curand_mtgp32_kernel.h; \
    echo '{"cuda": {"name": "CUDA SDK", "version": "12.2.140"}}' > version.json; \
    echo /usr/local/cuda/lib64 > /etc/ld.so.conf.d/cuda.conf; ldconfig

COPY training/cuda/clang-cuda training/cuda/fatbinary training/cuda/nvcc bin/
ENV PATH=/usr/local/cuda/bin:${PATH} CUDACXX=clang-cuda CUDAARCHS="70;80;90"
WORKDIR /
