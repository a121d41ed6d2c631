"""Lines as SVG, by hand: a line per country, time to the right."""

from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 60, 40, 30
_COLOURS: Final = ("#2a6f97", "#e07a5f", "#3d9970", "#9b59b6", "#c9a227")


def lines(title: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """An SVG document; points are (moment in seconds, value)."""
    points = [point for each in series.values() for point in each]
    first = min((x for x, _ in points), default=0.0)
    last = max((x for x, _ in points), default=1.0)
    most = max((y for _, y in points), default=1.0) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - first) / ((last - first) or 1) * (_WIDTH - _LEFT - _RIGHT)
        return _LEFT + across, _HEIGHT - _BOTTOM - y / most * (_HEIGHT - _TOP - _BOTTOM)

    frame = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame} font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(8, 20, title),
    ]
    for share in (0.0, 0.5, 1.0):
        _, base = place(first, most * share)
        parts.append(f'<path d="M{_LEFT} {base:.1f}H{_WIDTH - _RIGHT}" stroke="#dddddd"/>')
        parts.append(_text(8, base + 4, f"{most * share:,.0f}"))
    parts.append(_text(_LEFT, _HEIGHT - 8, "0 s"))
    parts.append(_text(_WIDTH - _RIGHT - 30, _HEIGHT - 8, f"{last - first:.0f} s"))
    for (name, found), colour in zip(sorted(series.items()), _COLOURS, strict=False):
        places = [place(x, y) for x, y in sorted(found)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if places:
            parts.append(_text(places[-1][0] + 6, places[-1][1] + 4, name, colour))
    return "\n".join([*parts, "</svg>", ""])


def _text(left: float, base: float, text: str, colour: str = "#1b1b1b") -> str:
    return f'<text x="{left:.1f}" y="{base:.1f}" fill="{colour}">{escape(text)}</text>'
