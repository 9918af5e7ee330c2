"""What reports of measurements are made of: intervals, charts and a page that needs no network."""
