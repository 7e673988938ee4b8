"""check.py PROGRAM JOB FOLDER: every shard but the last to end says so; one replica or three give the same bits."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, events, holds, run_alike

program, job, folder = sys.argv[1:]
lengths = set()
for report in run_alike([program, "run", job], folder, (2, 1, 3)):
    equal("failures", len(events(report, "failed") + events(report, "lost")), 0)
    equal("epochs", [row["epoch"] for row in report["ledger"]], [1, 2])
    for row in report["ledger"]:
        holds(f"epoch {row['epoch']} is complete, without repetition or gap",
              row["complete"] and row["repeated"] == 0 and row["missed"] == 0)
        ended = {e["shard"]: e["step"] for e in events(report, "exhausted", scope="shard", epoch=row["epoch"])}
        holds(f"a shard of epoch {row['epoch']} ended before the others: {ended}", 0 < len(ended) < 3)
    equal("samples", report["samples"], sum(row["used"] for row in report["ledger"]))
    lengths.add(tuple(row["used"] for row in report["ledger"]))
equal("different numbers of samples", len(lengths), 1)
