"""From solutions to notebooks, and from hand-ins to a book of grades."""
