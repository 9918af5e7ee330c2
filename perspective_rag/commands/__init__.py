"""The commands of ``perspective-rag``, one module each: options in, library calls, a report out."""
