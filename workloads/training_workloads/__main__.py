"""`python -m training_workloads` is the command line."""

from training_workloads.cli import main

main()
