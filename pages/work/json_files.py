"""JSON files from anywhere: every value is checked before any of them counts."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from smpcore import SmpcoreError


def refuse(name: str, what: str) -> NoReturn:
    """Say what is wrong with a file: ``The state file should be JSON ...``."""
    raise SmpcoreError(f"The {name} {what}. Nothing was changed.")


def parse(data: bytes, name: str, most_bytes: int) -> Any:
    """The content of a JSON file, not checked any further."""
    if len(data) > most_bytes:
        most = f"{most_bytes / 1e6:g}"
        refuse(name, f"should have at most {most} MB, it has {len(data) / 1e6:.1f} MB")

    def no_number(constant: str) -> NoReturn:
        refuse(name, f"holds {constant}, which is no number")

    try:
        content = json.loads(data.decode("utf-8-sig"), parse_constant=no_number)
        json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        refuse(name, "is nested too deeply to be one that the app wrote")
    except SmpcoreError:
        raise
    except UnicodeEncodeError:
        refuse(name, "has a character that is no character of Unicode")
    except ValueError:
        refuse(name, "should be JSON; it is damaged, cut off or another kind of file")
    return content


def check(content: Any, schema: Any, name: str) -> None:
    """Refuse content that a schema does not allow."""
    if error := next(Draft202012Validator(schema).iter_errors(content), None):
        where = ": ".join(
            str(part + 1) if type(part) is int else part for part in error.absolute_path
        )
        # The message begins with what is wrong, which may be long, and ends with why.
        own_words = error.validator in ("not", "const", "oneOf")
        why = (own_words and error.schema.get("$comment")) or error.message
        why = why if len(why) < 150 else f"…{why[-150:]}"
        why += "; remove it" * (error.validator == "additionalProperties")
        refuse(name, f"is not valid at “{where[:60] or 'its top level'}”: {why}")
