"""How a query vector is changed by its perspective."""
