"""Benchmarks: a sweep of jobs over types, nodes and settings, its results, its report, and a comparison of two."""
