"""check.py MUSTER JOB FOLDER LIBRARY: a library's model trains with the program as it is, with the same bits on 1 and 2 replicas."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, holds, run

muster, job, folder, library = sys.argv[1:]
hashes = set()
for replicas in (1, 2):
    report = run([muster, "run", job, "--replicas", replicas, "--set", f"model.library={library}"], folder,
                 f"report-{replicas}")
    equal("outcome", report["outcome"], "completed")
    losses = [row["loss"] for row in report["evaluation"]]
    holds(f"the loss falls: {losses}", losses[-1] < losses[0] / 2)
    hashes.add(report["weights_sha256"])
equal("different weights", len(hashes), 1)
