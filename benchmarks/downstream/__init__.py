"""What the two experiments with a language model behind the retriever share."""
