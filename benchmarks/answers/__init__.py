"""Answers with citations: what holds, which sides they have, what hostile passages do."""
