"""What the tests share: write a job, run it, read its report."""
import json
import pathlib
import shutil
import subprocess
import sys

FASHION = "/usr/share/datasets/fashion-mnist/"
IMAGES = f"""[data]
source = "idx"
train_images = "{FASHION}train-images-idx3-ubyte.gz"
train_labels = "{FASHION}train-labels-idx1-ubyte.gz"
"""


def fresh(folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def train(muster, folder, name, text, *more, code=0):
    """The report of a run, and what it said; ends the test if the exit code is another one."""
    job, report = folder / f"{name}.toml", folder / f"{name}.json"
    job.write_text(text)
    command = [muster, "run", str(job), "--report", str(report), *map(str, more)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    print(done.stdout, end="")
    if done.returncode != code:
        sys.exit(f"exit code {done.returncode}, expected {code}: {' '.join(command)}")
    return (json.loads(report.read_text()) if code == 0 else None), done.stdout
