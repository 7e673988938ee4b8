"""check.py MUSTER JOB FOLDER: the job completes and says what it ran out of."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, events, run

muster, job, folder = sys.argv[1:]
report = run([muster, "run", job], folder)
equal("outcome", report["outcome"], "completed")
equal("steps", report["steps"], 36)
equal("samples", report["samples"], 3 * 90)
ledger = [(row["complete"], row["used"], row["repeated"], row["missed"]) for row in report["ledger"]]
equal("ledger", ledger, [(True, 90, 0, 0)] * 3)
for what, asked, had in [("data.take", 1000, 90), ("train.steps", 1000, 36)]:
    equal(f"exhausted events of {what}", len(events(report, "exhausted", scope="job", what=what, asked=asked, had=had)), 1)
for epoch in (1, 2, 3):
    ended = [e["shard"] for e in events(report, "exhausted", scope="shard", epoch=epoch)]
    equal(f"shards that ended before others in epoch {epoch}", sorted(ended), [2, 3])
