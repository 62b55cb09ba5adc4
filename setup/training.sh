#!/usr/bin/env bash
# Create .venv-training: TensorFlow, Open MPI if the machine has none, and Horovod built against both.
source "$(dirname "$0")/common.sh"

# Compile at installation: where Python cannot write bytecode, every rank would compile TensorFlow at every start.
export UV_COMPILE_BYTECODE=1

step "training side: the locked Python packages into .venv-training"
[ -x .venv-training/bin/python ] || .venv/bin/uv venv --quiet --python .venv/bin/python .venv-training
install_locked .venv-training requirements/training.txt
export PATH="$PWD/.venv-training/bin:$PATH"

step "training side: Open MPI"
# Horovod's build needs mpicxx.
if ! { mpirun --version 2>/dev/null | grep -q 'Open MPI' && command -v mpicxx >/dev/null; }; then
    install_locked .venv-training requirements/mpi.txt
fi
mpi=$(mpirun --version | sed -nE 's/.*\(Open MPI\) *([0-9.]+).*/\1/p' | head -1)
echo "Open MPI $mpi at $(command -v mpirun)"

# Horovod runs only with the TensorFlow and the MPI of its build: keep one wheel for each pair.
horovod=$(sed -nE 's/^(horovod)==([0-9.]+).*/\1-\2/p' requirements/horovod.txt)
tensorflow=$(sed -nE 's/^(tensorflow)==([0-9.]+).*/\1-\2/p' requirements/training.txt)
wheels=$state/$horovod-$tensorflow-openmpi-$mpi
if ! compgen -G "$wheels/*.whl" >/dev/null; then
    step "training side: building $horovod against $tensorflow, once (3 to 10 minutes on 2 cores)"
    log=$state/horovod-build.log
    HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1 \
        HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 \
        .venv/bin/python -m pip --python .venv-training/bin/python wheel --verbose --no-deps --no-build-isolation \
        --require-hashes --requirement requirements/horovod.txt --wheel-dir "$wheels" 2>&1 |
        tee "$log" | sed -unE 's#^ *(\[ *[0-9]+%\]) Building.*/([^ /]+)\.o$#\1 \2#p' || true
    compgen -G "$wheels/*.whl" >/dev/null || fail "Horovod did not build; the compiler's output is in $log"
fi
.venv/bin/uv pip install --quiet --python .venv-training/bin/python --no-deps "$wheels"/*.whl
TF_CPP_MIN_LOG_LEVEL=3 python - <<'PYTHON' || fail "Horovod does not import; remove $wheels and run make again"
import horovod
import horovod.tensorflow.keras as hvd

print(f"Horovod {horovod.__version__}, MPI: {hvd.mpi_built()}, Gloo: {hvd.gloo_built()}")
PYTHON
