"""Setting the relevance floor and the listing rule for an encoder and a corpus of one's own."""
