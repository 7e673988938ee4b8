"""check.py EMBED_TORCH JOB FOLDER: a torch module of one's own learns, with the same bits on 1 and 2 replicas; a wrong key is named."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, holds, run_alike

embed, job, folder = sys.argv[1:]
for report in run_alike([embed, "run", job], folder, (1, 2)):
    accuracies = [row["accuracy"] for row in report["evaluation"]]
    holds(f"accuracies {accuracies}: the last is above 0.75", accuracies[-1] > 0.75)

refused = subprocess.run([embed, "plan", job, "--set", "model.widht=64"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(refused.stdout, end="")
equal("exit code of a key that there is not", refused.returncode, 2)
holds("the key that was meant is named", "width" in refused.stdout.replace("widht", ""))
