"""links_test.py ROOT: every link between the pages of ROOT leads to a file that is there, and to a heading that it has.

Pages: README.md, CONTRIBUTING.md, CHANGELOG.md and docs/**. A page below docs/ must be reached from docs/README.md. Links to
other sites are not followed.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(text):
    """The text without code: what stands in code is no link and no heading."""
    text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: re.sub(r"[\[\]]", "", code.group()), text)


def anchors(text):
    """The anchors of headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", prose(text), flags=re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        once, count = name, 0
        while name in found:
            count += 1
            name = f"{once}-{count}"
        found.add(name)
    return found


def broken_links(root, page):
    """Broken links of a page, and the pages that it leads to."""
    broken, led_to = [], set()
    for target in LINK.findall(prose(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            broken.append(f"{target}: there is no such file")
        elif root not in file.parents and file != root:
            broken.append(f"{target}: outside of the repository")
        elif anchor and (file.suffix != ".md" or anchor not in anchors(file.read_text())):
            broken.append(f"{target}: there is no such heading")
        led_to.add(file)
    return broken, led_to


def check(root):
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted((root / "docs").rglob("*.md"))
    mistakes, reached = [], {}
    for page in pages:
        broken, reached[page] = broken_links(root, page)
        mistakes += [f"{page.relative_to(root)}: {what}" for what in broken]
    contents = root / "docs" / "README.md"
    for page in pages[3:]:
        if page != contents and page not in reached[contents]:
            mistakes.append(f"{page.relative_to(root)}: docs/README.md has no link to it")
    return pages, mistakes


def self_test():
    assert anchors("# A `b` c: d\n```\n# no\n```\n## [Words](x.md) of 2\n") == {"a-b-c-d", "words-of-2"}
    assert anchors("# A\n# A\n") == {"a", "a-1"}
    assert LINK.findall(prose("[a](b.md#c) `[d](e)` `x[0]`")) == ["b.md#c"]


def main():
    self_test()
    pages, mistakes = check(pathlib.Path(sys.argv[1]).resolve())
    for mistake in mistakes:
        print(mistake)
    print(f"{len(pages)} pages, {len(mistakes)} mistakes")
    sys.exit(1 if mistakes else 0)


main()
