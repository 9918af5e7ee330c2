"""How well a judge detects perspectives: BERDS Table 7, other domains, robustness, speed."""
