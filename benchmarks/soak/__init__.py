"""A server over a real database, asked for minutes while the database is killed and comes back."""
