"""check.py PROGRAM JOB FOLDER: four steps, seven batches, shard 1 absent from the last."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, events, run_alike

program, job, folder = sys.argv[1:]
for report in run_alike([program, "run", job], folder, (2, 1)):
    equal("steps", report["steps"], 4)
    equal("samples", report["samples"], 6 * 8 + 4)
    equal("ledger counts", report["ledger_unit"], "batch")
    equal("ledger", report["ledger"],
          [{"epoch": 1, "complete": True, "used": 7, "repeated": 0, "missed": 0, "dropped": 0}])
    ended = [(e["shard"], e["step"]) for e in events(report, "exhausted", scope="shard")]
    equal("shards that ended before others, and where", ended, [(1, 4)])
    equal("failures", len(events(report, "failed") + events(report, "lost")), 0)
