"""How many sides a retriever shows: an audit of any retriever on questions of one's own."""
