"""check.py PROGRAM JOB FOLDER: four steps, seven batches, shard 1 absent from the last."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, events, run

program, job, folder = sys.argv[1:]
hashes = set()
for replicas in (2, 1):
    report = run([program, "run", job, "--replicas", replicas], folder, f"report-{replicas}")
    equal("outcome", report["outcome"], "completed")
    equal("replicas", report["replicas"], replicas)
    equal("steps", report["steps"], 4)
    equal("samples", report["samples"], 6 * 8 + 4)
    equal("ledger counts", report["ledger_unit"], "batch")
    equal("ledger", report["ledger"],
          [{"epoch": 1, "complete": True, "used": 7, "repeated": 0, "missed": 0, "dropped": 0}])
    ended = [(e["shard"], e["step"]) for e in events(report, "exhausted", scope="shard")]
    equal("shards that ended before others, and where", ended, [(1, 4)])
    equal("failures", len(events(report, "failed") + events(report, "lost")), 0)
    hashes.add(report["weights_sha256"])
equal("different weights of two replicas and one", len(hashes), 1)
