"""The tests. They share modules by their full name, as in `from tests.spec.rule_ids import RULES`."""
