"""Speed against targets, measured on demand: `python -m tests.bench` (no test asserts a time)."""
