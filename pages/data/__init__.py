"""Data: the picker, uploads, OpenML, roles of columns, checks and charts."""
