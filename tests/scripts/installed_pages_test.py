"""installed_pages_test.py SOURCES CMAKE: the pages of an installation name no file that is not there, unless they say so."""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCES, CMAKE = pathlib.Path(sys.argv[1]), sys.argv[2]
LINK = re.compile(r"\[[^][]*\]\(([^)\s]+)\)")
FILE = re.compile(r"(?<![a-z/-])(?:\./)?(?:scripts|tests|base|config|transport|gpu|actors|cli|cmake|\.ci)/[A-Za-z_]")
NOTE = "*Muster's sources, not this installation, have files"
SHARED = ("scripts/packages.txt", "tests/pytorch/reader.py")


def installed(prefix):
    """Copies of what the rules of installation put beside the pages: headers, examples, and two single files."""
    include, share = prefix / "include/muster", prefix / "share/muster"
    for source, target in ((SOURCES / "include/muster", include), (SOURCES / "examples", share / "examples")):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
    for name in SHARED:
        (share / pathlib.Path(name).name).symlink_to(SOURCES / name)
    pages = prefix / "share/doc/Muster"
    subprocess.run([CMAKE, f"-DSOURCE={SOURCES}", "-DINCLUDES=../../../include/muster", "-DSHARE=../../muster",
                    f"-DTARGET={pages}", "-P", str(SOURCES / "cmake/install_pages.cmake")], check=True)
    return pages


def wrong_in(page):
    text = page.read_text()
    for target in LINK.findall(text):
        path = target.split("#")[0]
        if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
            yield f"the link to {path} leads nowhere"
    if FILE.search(text) and NOTE not in text:
        yield f"names {FILE.search(text).group(0)}..., and does not say that it is in the sources"
    for name in SHARED:
        if name in text:
            yield f"names {name}, which is installed elsewhere"


with tempfile.TemporaryDirectory() as folder:
    root = installed(pathlib.Path(folder))
    found = sorted(root.rglob("*.md"))
    wrong = [f"{page.relative_to(root)}: {what}" for page in found for what in wrong_in(page)]
print("\n".join(wrong) or f"{len(found)} pages are in order")
sys.exit(1 if wrong or len(found) < 30 else 0)
