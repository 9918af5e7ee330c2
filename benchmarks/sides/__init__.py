"""What is shown: does each listed passage support its side, on pools labelled one by one?"""
