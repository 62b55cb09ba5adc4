"""The processes around the ranks in a pod: the worker's first process, and the launcher's wait for its workers."""
