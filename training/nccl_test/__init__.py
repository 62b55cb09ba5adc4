"""NVIDIA's nccl-tests, run and judged: `python -m training.nccl_test`."""
