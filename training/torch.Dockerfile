# The image of jobs with PyTorch, which cannot share an environment with TensorFlow. Build it from the repository root:
#
#   docker build --file training/torch.Dockerfile --tag localhost/training-torch .
#   docker build --file training/torch.Dockerfile --tag localhost/training-torch-cuda12 --build-arg LOCK=torch-cuda12 .     (V100)
#
# PyTorch's wheels bring CUDA, cuDNN and NCCL, so the base has none. It needs Python 3.11, for which the locks are.
ARG BASE_IMAGE=debian:bookworm-20261005@sha256:2c037a04925515fdd6ea85ea14a682d0e79931f5e9f5d07b6dbfc6ba12f9e858

# ---------------------------------------------------------------------------------------------------------- builder
FROM ${BASE_IMAGE} AS builder

RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3.11-venv \
    && rm -rf /var/lib/apt/lists/*

RUN python3.11 -m venv /opt/venv
ENV PATH=/opt/venv/bin:${PATH}

# The lock comes before the code, so that a change of the code does not install PyTorch again. With the bytecode: pods cannot write it.
ARG LOCK=torch
COPY requirements/${LOCK}.txt /build/
RUN pip install --no-cache-dir --require-hashes --requirement "/build/${LOCK}.txt"

# ------------------------------------------------------------------------------------------------------------ image
FROM ${BASE_IMAGE}

# gcc and Python's headers: `--compile` makes the starters of its kernels with them.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends gcc libc6-dev python3.11 python3.11-dev \
    && rm -rf /var/lib/apt/lists/*

# EFA userspace, as in training/Dockerfile. Not built yet: the machine where this file was written had no access to the
# installer, nor to the list of the distributions that it knows.
ARG EFA_INSTALLER_VERSION=""
ARG EFA_INSTALLER_SHA256=""
WORKDIR /tmp/efa
RUN if [ -n "${EFA_INSTALLER_VERSION}" ]; then set -e; \
        apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ca-certificates curl; \
        curl --fail --silent --show-error --location --output efa.tar.gz \
            "https://efa-installer.amazonaws.com/aws-efa-installer-${EFA_INSTALLER_VERSION}.tar.gz"; \
        echo "${EFA_INSTALLER_SHA256}  efa.tar.gz" > efa.sha256; \
        sha256sum --check --strict efa.sha256; \
        tar --strip-components=1 -xzf efa.tar.gz; \
        ./efa_installer.sh -y -g --skip-kmod --skip-limit-conf --no-verify; \
        ldconfig; rm -rf /tmp/efa/* /var/lib/apt/lists/*; \
    fi

COPY --from=builder /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:${PATH}

# The UID of the pods, with a home, where torch.compile keeps its kernels.
RUN useradd --uid 1000 --user-group --create-home --shell /bin/bash mpiuser

WORKDIR /workspace
COPY training/ training/
# The library for scripts of users, `import exact_resume`: the same files, built here, because no package index has it.
# In place of PyTorch's own, whose agents run what arrives over the network.
RUN pip install --no-cache-dir --no-index --no-build-isolation --no-deps ./training \
    && sed '1s|.*|#!/opt/venv/bin/python|' training/pods/torchrun.py > /opt/venv/bin/torchrun

# By number, so that Kubernetes can verify that it is not root.
USER 1000:1000

# A build that does not have what a job needs fails here, and not on the GPUs.
RUN ["python", "-m", "training.torch_imagenet.torch_image_check"]

CMD ["python", "-m", "training.torch_imagenet", "--help"]
