"""Write docs/example/report.html, the page of a finished study as a visitor's browser can open it.

    python docs/example.py results/default

It is the study's own page, lighter: without tables, settings, timings, the cells of claims and
links to files beside it. Figures say each style once, and coordinates to a tenth of a point.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "example/report.html"
LEFT_OUT = (
    r'<section class="part">\s*<details id="(?:tables|settings|timings)">.*?</section>',
    r'<li><a href="#(?:tables|settings|timings)">.*?</li>',
    r'<details class="cells".*?</details>',
)
NOTE = (
    '<p class="lead">A copy in the documents: tables, cells of claims and files for download are '
    "left out. <code>make study</code> makes the whole page.</p>"
)

FINDINGS = 'The document <a href="../findings/">Findings</a>'


def lighter(page: str) -> str:
    """The page without what is left out of a copy."""
    for part in LEFT_OUT:
        page = re.sub(part, "", page, flags=re.DOTALL)
    files = r'<a [^>]*href="(?!#|https?:|data:)[^"]*"[^>]*>(.*?)</a>'
    page = re.sub(files, r"\1", page, flags=re.DOTALL)
    page = page.replace("</h1>", f"</h1>\n{NOTE}", 1)
    page = page.replace("<code>docs/findings.md</code> in scant's source", FINDINGS)
    classes: dict[str, str] = {}  # by style

    def named(tag: re.Match) -> str:
        """The element with a class in the place of its style."""
        name = classes.setdefault(tag[2], f"x{len(classes)}")
        rest = tag[1] + tag[3]
        if ' class="' in rest:
            return rest.replace(' class="', f' class="{name} ', 1)
        return f'{tag[1]} class="{name}"{tag[3]}'

    def drawn(svg: re.Match) -> str:
        text = re.sub(r">\s+<", "><", svg[0])
        text = re.sub(r"(?<=[ \"(])(-?\d{2,}\.\d)\d+", r"\1", text)  # a tenth of a point
        return re.sub(r'(<[a-z][^<>]*?) style="([^"]*)"([^<>]*>)', named, text)

    page = re.sub(r"<svg.*?</svg>", drawn, page, flags=re.DOTALL)
    # As an element's own style does, each goes before the page's.
    rules = "".join(
        f".{name}{{{re.sub(';|$', '!important;', style)}}}" for style, name in classes.items()
    )
    return page.replace("</head>", f"<style>{rules}</style>\n</head>", 1)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    made = lighter((Path(sys.argv[1]) / "report.html").read_text(encoding="utf-8"))
    PAGE.write_text(made, encoding="utf-8")
    print(f"{PAGE}: {len(made.encode()) / 1e6:.2f} MB")
