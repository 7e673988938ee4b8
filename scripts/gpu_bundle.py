"""scripts/gpu-bundle without its set-up: downloads packages, unpacks what is needed of them, checks that it is enough, packs it."""
import argparse
import hashlib
import io
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_BYTES = 50 << 20
ROOMS = ("include", "base", "config", "transport", "gpu", "actors", "cli", "tests", "examples")
ARCH = "x86_64-linux-gnu"

# Of scripts/packages.txt, what the other machine has already, or does not need.
LEFT_OUT = {
    "g++": "compiler", "cmake": "there", "ninja-build": "there", "ccache": "nothing is built twice", "python3": "there",
    "libtorch-dev": "that of the installed PyTorch", "libopenblas0-pthread": "with libtorch", "python3-torch": "there",
    "python3-numpy": "with PyTorch", "bible-kjv": "its tokens are in the bundle",
}
# What packages depend on, and every machine with a C++ compiler has, or this use does not need.
NOT_FOLLOWED = {
    "libc6", "libc6-dev", "libgcc-s1", "libstdc++6", "libstdc++-12-dev", "debconf", "adduser",
    "googletest",  # sources; libgtest-dev has the libraries
    "libltdl-dev", "libnuma-dev",  # what a static libhwloc is linked with
}
# Shared libraries of such a machine. All others must be in the bundle.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so\.\d+$")


def fail(text):
    sys.exit(f"gpu-bundle: {text}")


def say(text):
    print(f"== {text}", flush=True)


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def mib(size):
    return f"{size / (1 << 20):.1f} MiB"


# ------------------------------------------------------------ which packages

def listed_packages():
    lines = (line.split("#")[0].strip() for line in (ROOT / "scripts" / "packages.txt").read_text().splitlines())
    names = [line for line in lines if line]
    stale = LEFT_OUT.keys() - set(names)
    if stale:
        fail(f"scripts/packages.txt no longer names {', '.join(sorted(stale))}; LEFT_OUT in scripts/gpu_bundle.py does")
    return [name for name in names if name not in LEFT_OUT]


def record_of(name):
    """The fields of the package's candidate."""
    text = subprocess.run(["apt-cache", "show", "--no-all-versions", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    fields = {}
    for line in text.split("\n\n")[0].splitlines():
        if not line.startswith(" ") and ":" in line:
            key, value = line.split(":", 1)
            fields[key] = value.strip()
    if "SHA256" not in fields:
        fail(f"apt knows no package {name}: is this Debian 12, and has `apt-get update` been run?")
    return fields


def needs_of(fields):
    """The names that a package depends on; of alternatives the first."""
    for key in ("Pre-Depends", "Depends"):
        for part in filter(None, fields.get(key, "").split(",")):
            yield re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", part).group(1)


def with_needs(names):
    """{name: fields} of these packages and of all that they depend on."""
    found, waiting = {}, list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in NOT_FOLLOWED:
            found[name] = record_of(name)
            waiting += needs_of(found[name])
    return dict(sorted(found.items()))


def download(name, fields, folder):
    """The package's file, which has the SHA-256 that apt knows."""
    def there():
        return next((file for file in folder.glob(f"{name}_*.deb") if sha256(file) == fields["SHA256"]), None)

    file = there()
    if file is None:
        done = subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", f"{name}={fields['Version']}"],
                              cwd=folder, stderr=subprocess.PIPE, text=True)
        file = there()
        if file is None:
            fail(f"apt-get download {name}={fields['Version']}: {done.stderr.strip() or 'it has another SHA-256 than announced'}")
    return file


# ------------------------------------------------------------ what is kept of them

def kept_as(path):
    """Where a package's file goes below the bundle's root, or None. Libraries and headers each get one folder: CMake's
    modules look into those."""
    path = path.removeprefix("./").removeprefix("/")
    if path.startswith("lib/"):
        path = "usr/" + path
    if path.startswith(f"usr/include/{ARCH}/"):
        path = "usr/include/" + path.removeprefix(f"usr/include/{ARCH}/")
    if path.startswith("usr/include/") or path.startswith("usr/share/cmake/") or path.startswith("usr/share/datasets/"):
        return path
    if path.startswith(f"usr/lib/{ARCH}/") and re.search(r"\.(a|cmake)$|\.so(\.|$)", path):
        return path
    return path if re.fullmatch(r"usr/share/doc/[^/]+(/copyright)?", path) else None


def link_to(name, leads_to, place):
    """What the link `name` of a package becomes at its place in the bundle: relative, and to where its target is kept."""
    target = os.path.normpath(os.path.join("/", os.path.dirname(name), leads_to))
    return os.path.relpath(kept_as(target) or target, os.path.dirname(place))


def unpack(package, tree, boost):
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=tar.stdout, mode="r|") as archive:
        for member in archive:
            place = kept_as(member.name)
            if place is None or (place.startswith("usr/include/boost/") and place[len("usr/include/"):] not in boost):
                continue
            target = tree / place
            if member.issym():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(link_to(member.name, member.linkname, place))
            elif member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
            elif member.islnk():
                fail(f"{package.name}: {member.name} is a hard link, which this does not unpack")
    if tar.wait() != 0:
        fail(f"{package} cannot be unpacked")


def included_boost():
    """The headers of Boost that Muster's own sources name."""
    named = set()
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.[ch]pp"):
            named.update(re.findall(r"#include <(boost/[^>]+)>", file.read_text()))
    return named


def boost_headers(package):
    """The names that are reached from there, whatever the compiler: conditions are not looked at. Of a header that names another
    one by a macro, all of its library is kept."""
    texts = {}
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=tar.stdout, mode="r|") as archive:
        for member in archive:
            if member.isfile() and "/usr/include/boost/" in member.name:
                texts[member.name.split("/usr/include/")[1]] = archive.extractfile(member).read().decode(errors="replace")
    tar.wait()
    reached, waiting = set(), list(included_boost())
    while waiting:
        name = waiting.pop()
        if name in reached or name not in texts:
            continue
        reached.add(name)
        if re.search(r"#\s*include\s+[A-Z]", texts[name]):
            library = "/".join(name.split("/")[:2]).removesuffix(".hpp") + "/"
            waiting += [other for other in texts if other.startswith(library)]
        waiting += re.findall(r'[<"](boost/[^>"\s]+)[>"]', texts[name])  # in a macro's definition, too
        for inner in re.findall(r'#\s*include\s*"([^"]+)"', texts[name]):
            waiting.append(os.path.normpath(os.path.join(os.path.dirname(name), inner)))
    missing = included_boost() - reached
    if missing:
        fail(f"{package.name} has no {', '.join(sorted(missing))}")
    return reached


def drop_static(tree):
    """Static libraries that have a shared one beside them are not linked."""
    for archive in tree.rglob("*.a"):
        if archive.with_suffix(".so").exists():
            archive.unlink()


def relocate(tree):
    """CMake files that say where they were installed say instead where they are."""
    for file in (tree / "usr/lib" / ARCH / "cmake").rglob("*.cmake"):
        text = file.read_text()
        moved = text.replace('set(prefix "/usr")', 'get_filename_component(prefix "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)')
        if moved != text:
            file.write_text(moved)


# ------------------------------------------------------------ whether it is enough

def check_libraries(tree):
    """Whatever a library needs is in the bundle, or on every machine with a C++ compiler."""
    folder = tree / "usr/lib" / ARCH
    here = {file.name for file in folder.iterdir()}
    for library in sorted(file for file in folder.rglob("*.so*") if not file.is_symlink()):
        here_or_beside = here | {file.name for file in library.parent.iterdir()}  # a module is loaded after what it needs
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", str(library))):
            if name not in here_or_beside and not SYSTEM_LIBRARIES.match(name):
                fail(f"{library.relative_to(tree)} needs {name}, which is in none of the packages")


def check_links(tree):
    for link in tree.rglob("*"):
        if link.is_symlink() and (os.path.isabs(os.readlink(link)) or not link.exists()):
            fail(f"{link.relative_to(tree)} leads to {os.readlink(link)}, which was not kept")


def check_cmake(tree):
    """No CMake file leads back to where its package was installed. What is compared with `_realOrig` is only asked about."""
    for file in tree.rglob("*.cmake"):
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            asked = any("_realOrig" in near for near in lines[max(0, number - 3):number + 1])
            if re.match(r'[^#]*"/(usr|lib)/?[^"]*"', line) and not asked:
                fail(f"{file.relative_to(tree)}:{number + 1} names a fixed place: {line.strip()}")


def check_licenses(tree, packages):
    for name in packages:
        if not (tree / "usr/share/doc" / name / "copyright").is_file():
            fail(f"{name} brings no license (usr/share/doc/{name}/copyright)")


# ------------------------------------------------------------ packing

def pack(tree, file):
    """A tar of the tree: sorted, without times and owners, so that the same content is the same file."""
    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with lzma.open(file, "wb", preset=6) as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree.rglob("*")):
            archive.add(path, path.relative_to(tree), recursive=False, filter=plain)


def manifest(key, packages, files, tree, packed):
    unpacked = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    text = io.StringIO()
    print(f"# What is in deps.tar.xz\n\nWritten by `./scripts/gpu-bundle`; for `./scripts/gpu-check --deps` of this folder.\n\n"
          f"- {mib(unpacked)} unpacked, {mib(packed.stat().st_size)} packed, SHA-256 `{sha256(packed)}`\n- made of `{key}`\n\n"
          "Each package's license is usr/share/doc/PACKAGE/copyright.\n\n"
          "| package | version | SHA-256 of the package |\n| --- | --- | --- |", file=text)
    for name, fields in packages.items():
        print(f"| {name} | {fields['Version']} | `{fields['SHA256']}` |", file=text)
    print("\nThe text is in the public domain, and comes from Debian's package bible-kjv.\n\n"
          "| file | bytes | SHA-256 |\n| --- | --- | --- |", file=text)
    for file in files:
        print(f"| data/{file.name} | {file.stat().st_size} | `{sha256(file)}` |", file=text)
    return text.getvalue()


def up_to_date(out, key):
    page, packed = out / "MANIFEST.md", out / "deps.tar.xz"
    if not page.is_file() or not packed.is_file():
        return False
    text = page.read_text()
    return f"made of `{key}`" in text and sha256(packed) in text


def build_tree(tree, packages, debs, tokens):
    shutil.rmtree(tree, ignore_errors=True)
    boost_package = next(file for name, file in debs.items() if re.fullmatch(r"libboost1\.\d+-dev", name))
    boost = boost_headers(boost_package)
    say(f"unpacking {len(debs)} packages; of Boost {len(boost)} headers")
    for file in debs.values():
        unpack(file, tree, boost)
    drop_static(tree)
    relocate(tree)
    (tree / "data").mkdir()
    for file in tokens:
        shutil.copyfile(file, tree / "data" / file.name)
    check_links(tree)
    check_libraries(tree)
    check_cmake(tree)
    check_licenses(tree, packages)


def main():
    parser = argparse.ArgumentParser(prog="gpu-bundle")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build-gpu-deps")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="for downloads and what is unpacked")
    given = parser.parse_args()
    for tool in ("apt-cache", "apt-get", "dpkg-deb", "readelf"):
        if shutil.which(tool) is None:
            fail(f"{tool} is missing: this needs a Debian 12 machine")
    packages = with_needs(listed_packages())
    tokens = [given.work / "tokens" / f"kjv-{part}.tokens" for part in ("train", "test")]
    parts = [f"{name} {fields['SHA256']}" for name, fields in packages.items()]
    parts += [sha256(file) for file in (*tokens, pathlib.Path(__file__))] + sorted(included_boost())
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    if up_to_date(given.out, key):
        say(f"{given.out} is up to date")
        return
    folder = given.work / "debs"
    folder.mkdir(parents=True, exist_ok=True)
    say(f"downloading what is missing of {len(packages)} packages")
    debs = {name: download(name, fields, folder) for name, fields in packages.items()}
    tree = given.work / "tree"
    build_tree(tree, packages, debs, tokens)
    say("packing")
    given.out.mkdir(parents=True, exist_ok=True)
    packed = given.out / "deps.tar.xz"
    pack(tree, packed)
    (given.out / "MANIFEST.md").write_text(manifest(key, packages, tokens, tree, packed))
    total = sum(path.stat().st_size for path in given.out.rglob("*") if path.is_file())
    if total > LIMIT_BYTES:
        fail(f"{given.out} takes {mib(total)}, more than {mib(LIMIT_BYTES)}")
    for name, fields in packages.items():
        print(f"  {name} {fields['Version']}")
    print("\n".join(line[2:] for line in (given.out / "MANIFEST.md").read_text().splitlines() if " unpacked, " in line))
    say(f"{given.out}: {mib(total)} of at most {mib(LIMIT_BYTES)}")


if __name__ == "__main__":
    main()
