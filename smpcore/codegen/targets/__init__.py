"""Writers of a program, one file (of C a folder) for each language or runtime.

A new target is one file: a function that is registered for each operation it can
express and refuses any other with an `ExportError`; ``files`` and ``use`` of a
`Package`; and one row of `export.TARGETS`. It touches no other file.
"""
