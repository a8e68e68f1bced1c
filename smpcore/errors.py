"""What can go wrong in a way that the caller can mend."""


class SmpcoreError(ValueError):
    """A wrong value, with its bound and its remedy in the message."""


class DatasetError(SmpcoreError):
    """A table that cannot be read or used as it is."""


class ExportError(SmpcoreError):
    """A model that a target cannot express; the message says what is possible."""
