"""One MPIJob: what is written, what is read, its launch command, its definition, and documents with lines."""
