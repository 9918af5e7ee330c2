"""One server: a page, a JSON API, and what other products speak (rerank, chat, MCP)."""
