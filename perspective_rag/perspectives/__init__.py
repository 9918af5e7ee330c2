"""A question to its sides, and the queries that search for them."""
