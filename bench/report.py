"""Where a benchmark's table goes: between two markers of a page; the text around it stays."""

from pathlib import Path


def replace_section(path: str | Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name:begin -->` and `<!-- name:end -->`, which must be there."""
    page = Path(path)
    before, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name}:begin -->")
    _, end, after = rest.partition(f"<!-- {name}:end -->")
    if not (begin and end):
        raise ValueError(f"{path} has no section {name!r}")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")
