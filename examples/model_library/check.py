"""check.py MUSTER JOB FOLDER LIBRARY: a library's model trains with the program as it is, with the same bits on 1 and 2 replicas."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import holds, run_alike

muster, job, folder, library = sys.argv[1:]
for report in run_alike([muster, "run", job, "--set", f"model.library={library}"], folder, (1, 2)):
    losses = [row["loss"] for row in report["evaluation"]]
    holds(f"the loss falls: {losses}", losses[-1] < losses[0] / 2)
