"""Does the retrieved set show both sides? The real pipeline on labelled questions."""
