"""scripts/gpu-check without its set-up: what the machine is, the stages, the table."""
import argparse
import datetime
import filecmp
import hashlib
import os
import pathlib
import shutil
import sys
import tarfile
import time

import gpu_check_build
import gpu_check_machine as machine
import gpu_check_models
import gpu_check_reduction
import gpu_check_table as table

ROOT = pathlib.Path(__file__).resolve().parent.parent


def models(check, stage):
    gpu_check_models.models(check, stage)
    gpu_check_reduction.reduction(check, stage)


STAGES = {"build": gpu_check_build.build, "tests": gpu_check_build.tests, "bench": gpu_check_build.bench,
          "models": models, "kill": gpu_check_models.kill}


def say(text):
    print(text, flush=True)


class Check:
    """What the stages share: `deps` is the unpacked bundle, `root` the sources, `build` the folder in which they are built."""

    device = "cuda:0"

    def __init__(self, given, gpu):
        self.given, self.gpu, self.quick = given, gpu, given.quick
        self.build = given.build.resolve()
        self.kept = self.build / "gpu-check"
        self.kept.mkdir(parents=True, exist_ok=True)
        self.deps, self.root = self.kept / "deps", self.kept / "source"
        self.muster = self.build / "bin" / "muster"
        self.clock = machine.Clock(given.limit)
        self.commands = machine.Commands(self.kept / "gpu-check.log", self.clock, self.environment())

    @staticmethod
    def environment():
        """CUDA's compiler is found although it is not on PATH."""
        path = os.environ.get("PATH", "")
        return dict(os.environ, PATH=path if shutil.which("nvcc") else path + os.pathsep + "/usr/local/cuda/bin")

    def stage(self, name):
        return table.Stage(name, self.kept, say)

    def unpack(self):
        """The bundle, once; again if it is another one."""
        packed = self.given.deps / "deps.tar.xz"
        if not packed.is_file():
            raise machine.CannotRun(f"{packed} is not there: ./scripts/gpu-bundle makes it on a machine with a network")
        content = hashlib.sha256(packed.read_bytes()).hexdigest()
        mark = self.deps / "unpacked"
        if mark.is_file() and mark.read_text() == content:
            return
        shutil.rmtree(self.deps, ignore_errors=True)
        with tarfile.open(packed) as archive:
            members = archive.getmembers()
            for member in members:
                member.mtime = time.time()  # other headers are newer than what was built with those before
            archive.extractall(self.deps, members, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        mark.write_text(content)

    def copy_source(self):
        """The sources that are built: where the tree was sent anew, files are newer than before, and yet the same."""
        folders = [self.build, *self.build.parents, self.given.deps.resolve()]
        copy_changed(ROOT, self.root, leave_out=lambda name: name.startswith("build") or name in (".git", "runs", "shared")
                     or ROOT / name in folders)


def copy_changed(source, target, leave_out=lambda name: False):
    """Makes `target` like `source`, but files that are the same keep their times. `leave_out` is asked at the top only."""
    target.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in source.iterdir() if not leave_out(path.name) and path.name != "__pycache__"}
    for path in target.iterdir():
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name in names:
        one, other = source / name, target / name
        if one.is_dir():
            copy_changed(one, other)
        elif not other.is_file() or not filecmp.cmp(one, other, shallow=False):
            shutil.copyfile(one, other)
            shutil.copymode(one, other)


def about(check, torch):
    """One line: date, GPU, versions, commit."""
    gpu = check.gpu
    try:
        driver = machine.Management(gpu["bus"]).driver()
    except machine.CannotRun:
        driver = "unknown"
    return (f"{datetime.date.today()}: {gpu['name']} ({gpu['memory'] / (1 << 30):.0f} GiB, compute capability {gpu['capability']}), "
            f"driver {driver} (CUDA {gpu['cuda']}), CUDA Toolkit {machine.toolkit()}, PyTorch {torch['version']}, "
            f"{os.cpu_count()} cores of {machine.processor()}; commit {check.given.commit or machine.commit(ROOT)}"
            f"{'; --quick' if check.quick else ''}")


def arguments(words=None):
    parser = argparse.ArgumentParser(prog="gpu-check")
    parser.add_argument("--deps", type=pathlib.Path, required=True, help="what scripts/gpu-bundle made")
    parser.add_argument("--stage", action="append", choices=[*STAGES, "report", "all"], help="may be given several times")
    parser.add_argument("--quick", action="store_true", help="fewer steps, kills and repetitions; no racecheck")
    parser.add_argument("--limit", type=float, default=570, help="seconds for the whole command")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-gpu")
    parser.add_argument("--out", type=pathlib.Path, help="where the table and the log are copied to")
    parser.add_argument("--commit", help="what is checked, where there is no git")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--ucx", type=pathlib.Path, help="a folder with the libraries of a UCX that moves the memory of GPUs")
    parser.add_argument("--sanitize", help="regular expression: tests of label gpu that run under compute-sanitizer")
    given = parser.parse_args(words)
    chosen = given.stage or ["all"]
    given.stages = [stage for stage in table.STAGES if stage in chosen or "all" in chosen]
    given.wanted = list(table.STAGES) if {"all", "report"} & set(chosen) else given.stages
    return given


def finish(check, given, line):
    kept = table.kept_stages(check.kept)
    page = table.table(kept, given.wanted, line)
    (check.kept / "gpu-check.md").write_text(page)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        for name in ("gpu-check.md", "gpu-check.log"):
            if (check.kept / name).is_file():
                shutil.copyfile(check.kept / name, given.out / name)
    say("\n" + page)
    return 1 if table.failures(kept, given.wanted) else 0


def main():
    given = arguments()
    try:
        gpu = machine.gpu()
        torch = machine.torch()
        if not torch["cuda"]:
            raise machine.CannotRun(f"the installed PyTorch {torch['version']} does not compute on the GPU")
        check = Check(given, gpu)
        line = about(check, torch)
        say(line)
        check.unpack()
        check.copy_source()
    except machine.CannotRun as reason:
        sys.exit(f"gpu-check: {reason}")
    check.torch = torch
    for name in given.stages:
        say(f"== {name}")
        stage = check.stage(name)
        try:
            STAGES[name](check, stage)
        except Exception as error:  # the table is worth more than where it stopped
            stage.add(table.Row(f"stage {name}", verdict=table.FAILED, reason=f"{type(error).__name__}: {error}"))
        stage.end()
    sys.exit(finish(check, given, line))


if __name__ == "__main__":
    main()
