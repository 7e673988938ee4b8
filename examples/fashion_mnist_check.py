"""fashion_mnist_check.py MUSTER JOB FOLDER: a part of the main job, on one replica and on two, gives the same bits."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from expect import equal, holds, run_alike

muster, job, folder = sys.argv[1:]
part = ["--set", "data.take=5000", "--set", "train.epochs=1"]
for report in run_alike([muster, "run", job, *part], folder, (2, 1)):
    equal("steps", report["steps"], 40)  # 39 full ones and 8 samples
    equal("ledger", report["ledger"],
          [{"epoch": 1, "complete": True, "used": 5000, "repeated": 0, "missed": 0, "dropped": 0}])
    equal("replicas that report their phases", len(report["phases"]), report["replicas"])
    holds(f"accuracy {report['evaluation'][0]['accuracy']} is above 0.5", report["evaluation"][0]["accuracy"] > 0.5)
