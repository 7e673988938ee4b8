"""fashion_mnist_check.py MUSTER JOB FOLDER: a part of the main job, on one replica and on two, gives the same bits."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from expect import equal, holds, run

muster, job, folder = sys.argv[1:]
hashes = set()
for replicas in (2, 1):
    part = ["--replicas", replicas, "--set", "data.take=5000", "--set", "train.epochs=1"]
    report = run([muster, "run", job, *part], folder, f"report-{replicas}")
    equal("outcome", report["outcome"], "completed")
    equal("steps", report["steps"], 40)  # 39 full ones and 8 samples
    equal("ledger", report["ledger"],
          [{"epoch": 1, "complete": True, "used": 5000, "repeated": 0, "missed": 0, "dropped": 0}])
    equal("replicas that report their phases", len(report["phases"]), replicas)
    holds(f"accuracy {report['evaluation'][0]['accuracy']} is above 0.5", report["evaluation"][0]["accuracy"] > 0.5)
    hashes.add(report["weights_sha256"])
equal("different weights", len(hashes), 1)
