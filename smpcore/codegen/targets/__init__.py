"""What a model can become, one folder for each language, library or runtime.

A folder holds ``use.md.in`` and ``files``: templates that are filled with words, see
`smpcore.codegen.templates`. What depends on the model's operations is written by
functions: one for each operation that the language can express, which refuse any other
with an `ExportError`. A new target is one folder and one row of `export.TARGETS`.
"""
