"""A file system of its own that can be frozen: whoever writes to it waits, and is told nothing, until it is thawed.

Needs root, a loop device, `mkfs.ext4` and `fsfreeze`. It is thawed and unmounted at the end, by a helper process if this one is killed.
"""
import os
import shutil
import subprocess
import tempfile

BYTES = 64 << 20

# Waits for the end of its standard input, that is of the process that holds the other end; then removes what is left.
_REMOVER = """
import subprocess, sys
sys.stdin.read()
if subprocess.run(["mountpoint", "--quiet", sys.argv[1]]).returncode == 0:
    subprocess.run(["fsfreeze", "--unfreeze", sys.argv[1]], stderr=subprocess.DEVNULL)
    subprocess.run(["umount", "--lazy", sys.argv[1]])
"""


def cannot_run():
    """Why there is no such file system here; None if there is."""
    missing = [name for name in ("mkfs.ext4", "mount", "umount", "mountpoint", "fsfreeze") if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} missing: install e2fsprogs, mount and util-linux"
    if os.geteuid() != 0:
        return "a mount needs root"
    with tempfile.TemporaryDirectory() as name:
        try:
            with FrozenDisk(name) as disk:
                disk.freeze()
        except RuntimeError as error:
            return f"no file system can be mounted and frozen: {error}"
    return None


def _command(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(done.args)}: {done.stdout.strip()}")


class FrozenDisk:
    """`folder` is on a file system of its own, which is made in `place`. A context manager."""

    def __init__(self, place):
        self._image, self.folder = f"{place}/image", f"{place}/disk"
        self._frozen = False

    def __enter__(self):
        os.mkdir(self.folder)
        with open(self._image, "wb") as image:
            image.truncate(BYTES)
        self._remover = subprocess.Popen(["python3", "-c", _REMOVER, self.folder], stdin=subprocess.PIPE, start_new_session=True)
        try:
            _command("mkfs.ext4", "-q", self._image)
            _command("mount", "-o", "loop", self._image, self.folder)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._remover.stdin.close()
        self._remover.wait()

    def freeze(self):
        _command("fsfreeze", "--freeze", self.folder)
        self._frozen = True

    def thaw(self):
        if self._frozen:
            _command("fsfreeze", "--unfreeze", self.folder)
        self._frozen = False
