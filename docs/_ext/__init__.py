"""Sphinx extensions of this project, and what they write: text and pictures that need no Sphinx to be looked at."""
