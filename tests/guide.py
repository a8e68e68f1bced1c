"""Code blocks of Markdown pages, and what stands below them as printed."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = sorted((ROOT / "assets" / "guide").glob("*.md"))
_BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def blocks(path: Path) -> list[tuple[str, str]]:
    """Every Python block of a page, and what it prints."""
    return _BLOCK.findall(path.read_text("utf-8"))
