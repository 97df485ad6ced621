"""How wide text is, roughly and never too little: nobody here knows which font it will be written in."""

from __future__ import annotations

from typing import Final

SIZE: Final = 13.0
"""Of all text but the title, in pixels."""
TITLE_SIZE: Final = 17.0

_NARROW: Final = frozenset("fijlrtI.,:;'|!()[]/ -")
_WIDE: Final = frozenset("mwMWOQGDHNU@%&—…")
_EM_NARROW, _EM_WIDE, _EM_USUAL = 0.42, 1.0, 0.65


def width(text: str, size: float = SIZE) -> float:
    """Return how wide a text is at most in a sans-serif font, in pixels. Unknown scripts count as wide."""
    return sum(_em(character) for character in text) * size


def _em(character: str) -> float:
    if character in _NARROW:
        return _EM_NARROW
    return _EM_WIDE if character in _WIDE or not character.isascii() else _EM_USUAL


def wrapped(text: str, pixels: float, size: float = SIZE) -> list[str]:
    """Return a text in lines of at most so many pixels, as long as no word is longer."""
    first, *words = text.split() or [""]
    lines = [first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if width(longer, size) > pixels:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
