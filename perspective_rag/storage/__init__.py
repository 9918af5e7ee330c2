"""Files that outlive a process: caches, logs, JSON lines, fingerprints."""
