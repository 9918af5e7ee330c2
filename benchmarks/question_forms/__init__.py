"""How many questions of many forms the rules read as a person would."""
