"""Short names for parts of a JSON schema."""

from __future__ import annotations

from typing import Any


def text(most: int) -> dict[str, Any]:
    """Schema of a text of at most so many characters."""
    return {"type": "string", "maxLength": most}


def integer(low: int, high: int) -> dict[str, Any]:
    """Schema of an integer between two ends: no number is free."""
    return {"type": "integer", "minimum": low, "maximum": high}


def number(low: float, high: float) -> dict[str, Any]:
    """Schema of a number between two ends."""
    return {"type": "number", "minimum": low, "maximum": high}


def array(items: dict[str, Any], most: int) -> dict[str, Any]:
    """Schema of at most so many items."""
    return {"type": "array", "items": items, "maxItems": most}


def mapping(values: dict[str, Any], most: int, longest: int) -> dict[str, Any]:
    """Schema of at most so many values, with names of at most so many characters."""
    names = {"maxProperties": most, "propertyNames": {"maxLength": longest}}
    return {"type": "object", "additionalProperties": values, **names}


def record(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> Any:
    """Schema of an object with exactly these entries."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, or null."""
    return schema | {"type": [schema["type"], "null"]}
