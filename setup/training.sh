#!/usr/bin/env bash
# Create .venv-training: TensorFlow, Open MPI if the machine has none, and Horovod built against both.
source "$(dirname "$0")/common.sh"
begin training

# Compile at installation: where Python cannot write bytecode, every rank would compile TensorFlow at every start.
export UV_COMPILE_BYTECODE=1

if ! .venv-training/bin/python --version >/dev/null 2>&1; then
    python=""
    for name in python3.11 .venv/bin/python; do
        ! "$name" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || python=$name
    done
    if [ -z "$python" ]; then
        step "training side: Python 3.11, which TensorFlow 2.15 needs"
        export UV_PYTHON_INSTALL_DIR=$PWD/$state/python
        UV_PYTHON_DOWNLOADS=manual .venv/bin/uv python install --no-bin 3.11 </dev/null >"$log" 2>&1 ||
            fail "TensorFlow 2.15 needs Python 3.11; this machine has none and uv could not download one (see $log);" \
                "put a python3.11 on PATH (Debian 12: apt-get install python3.11; Debian 13 has no such package:" \
                "pyenv or conda), or set UV_PYTHON_INSTALL_MIRROR to a mirror of python-build-standalone's releases;" \
                "then run make again, or train in the image. make synth, make jobs and trainctl work without it"
        python=$(.venv/bin/uv python find --managed-python 3.11)
        finish "in $state/python"
    fi
    quietly "create .venv-training" .venv/bin/uv venv --clear --python "$python" .venv-training
fi

step "training side: Python packages into .venv-training"
install_locked .venv-training requirements/training.txt
finish "$(packages_of .venv-training)"
export PATH="$PWD/.venv-training/bin:$PATH"

step "training side: Open MPI"
# Horovod's build needs mpicxx.
if ! { mpirun --version 2>/dev/null | grep -q 'Open MPI' && command -v mpicxx >/dev/null; }; then
    install_locked .venv-training requirements/mpi.txt
fi
mpi=$(mpirun --version | sed -nE 's/.*\(Open MPI\) *([0-9.]+).*/\1/p' | head -1)
case $(command -v mpirun) in
"$PWD"/*) finish "$mpi in .venv-training" ;;
*) finish "$mpi of this machine" ;;
esac

# Horovod runs only with the TensorFlow and the MPI of its build: keep one wheel for each pair.
horovod=$(sed -nE 's/^(horovod)==([0-9.]+).*/\1-\2/p' requirements/horovod.txt)
tensorflow=$(sed -nE 's/^(tensorflow)==([0-9.]+).*/\1-\2/p' requirements/training.txt)
wheels=$state/$horovod-$tensorflow-openmpi-$mpi
if compgen -G "$wheels/*.whl" >/dev/null; then
    step "training side: Horovod"
else
    step "training side: compiling Horovod, once, 2 to 10 minutes"
    # GCC 14 rejects the FlatBuffers in Horovod's sources.
    for name in g++-12 g++-13 g++ c++; do
        version=$("$name" -dumpversion 2>/dev/null || echo 99)
        [ "${version%%.*}" -ge 14 ] || compiler=$name
    done
    export CXX=${CXX:-${compiler:-}}
    found=$({ c++ --version || g++ --version; } 2>/dev/null | head -1)
    [ -n "$CXX" ] || fail "Horovod is built with a GCC before 14; this machine has $found;" \
        "install g++-13 and run make again (CXX=<compiler> tries another), or train in the image." \
        "make synth and make jobs work without it"
    # CMake's line for a file, which may have colours.
    percentages() { sed -unE 's#^.*\[ *([0-9]+%)\].*Building.*#\1#p' | while read -r done; do progress "$done"; done; }
    filter=percentages
    # Without debug information, which takes a third of the time.
    export CMAKE_TOOLCHAIN_FILE=$PWD/setup/horovod.cmake
    # An interrupted compilation leaves its files there.
    export TMPDIR=$PWD/$state/compilation
    rm -rf "$TMPDIR" && mkdir "$TMPDIR"
    export HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1
    export HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1
    quietly "compile Horovod" .venv/bin/python -m pip --python .venv-training/bin/python wheel --verbose --no-deps \
        --no-build-isolation --require-hashes --requirement requirements/horovod.txt --wheel-dir "$wheels"
    filter=ignore
    rm -rf "$TMPDIR"
    unset TMPDIR
fi
quietly "install Horovod into .venv-training" \
    .venv/bin/uv pip install --python .venv-training/bin/python --no-deps "$wheels"/*.whl
{ echo "#!$PWD/.venv-training/bin/python" && sed 1d training/pods/horovodrun.py; } >.venv-training/bin/horovodrun
import='import horovod.tensorflow.keras as hvd; assert hvd.mpi_built() and hvd.gloo_built()'
TF_CPP_MIN_LOG_LEVEL=3 quietly "import Horovod; remove $wheels" python -c "$import"
finish "${horovod#horovod-} for TensorFlow ${tensorflow#tensorflow-}, with MPI and Gloo"
complete
