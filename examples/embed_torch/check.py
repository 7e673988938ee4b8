"""check.py EMBED_TORCH JOB FOLDER: a torch module of one's own learns, with the same bits on 1 and 2 replicas; a wrong key is named."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, holds, run

embed, job, folder = sys.argv[1:]
hashes = set()
for replicas in (1, 2):
    report = run([embed, "run", job, "--replicas", replicas], folder, f"report-{replicas}")
    equal("outcome", report["outcome"], "completed")
    accuracies = [row["accuracy"] for row in report["evaluation"]]
    holds(f"accuracies {accuracies}: the last is above 0.75", accuracies[-1] > 0.75)
    hashes.add(report["weights_sha256"])
equal("different weights", len(hashes), 1)

refused = subprocess.run([embed, "plan", job, "--set", "model.widht=64"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(refused.stdout, end="")
equal("exit code of a key that there is not", refused.returncode, 2)
holds("the key that was meant is named", "width" in refused.stdout.replace("widht", ""))
