"""The documentation: its pages, the examples on them, and the extension that takes tables out of the code."""
