"""Forty-two questions in users' own words; every statement on the screen is read by a person."""
