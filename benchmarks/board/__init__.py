"""Every claim about quality in one table, on sets with labels, beside peers."""
