"""One call of a language model a question: its recorded verdicts, and what they list."""
