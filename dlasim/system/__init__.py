"""The operating system: files, pipes, the cache, processes, Ctrl-C."""
