"""The parts that every program uses: ranks, devices, checkpoints, results, files and the command line."""
