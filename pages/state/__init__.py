"""What the app remembers of a visitor: the choice, links, own tables, undo."""
