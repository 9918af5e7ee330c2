"""A language model as a judge: vLLM in this process, behind a server, and transformers."""
