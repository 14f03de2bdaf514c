"""Small words around numbers."""


def plural(count: float, one: str, many: str = "") -> str:
    """Return the number without a needless fraction, then its word: `1 launch`, `2.5 passes`."""
    return f"{round(count, 2):.12g} {one if count == 1 else many or one + 's'}"
