"""The program `python -m training.nccl_test`: NVIDIA's nccl-tests, run and checked."""
