"""gpt2_tiny_check.py MUSTER JOB FOLDER: a part of the text, thrice: the loss falls, with the same bits on 1 and 2 replicas."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from expect import equal, holds, run_alike

muster, job, folder = sys.argv[1:]
script = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "kjv-tokens"
subprocess.run([str(script), folder], check=True)
test = pathlib.Path(folder) / "kjv-test.tokens"
short = pathlib.Path(folder) / "kjv-short.tokens"
short.write_bytes(test.read_bytes()[:20000])
part = ["--set", "data.take=901", "--set", "train.epochs=3", "--set", "train.batch=2",
        "--set", f'data.train="{folder}/kjv-train.tokens"', "--set", f'data.test="{short}"',
        "--set", "train.optimizer.learning_rate.initial=0.01"]
for report in run_alike([muster, "run", job, *part], folder, (2, 1)):
    equal("steps", report["steps"], 3 * 113)  # 112 full ones and 5 windows
    equal("ledger", [row["used"] for row in report["ledger"]], [901, 901, 901])
    losses = [row["loss"] for row in report["evaluation"]]
    holds(f"the loss falls: {losses}", losses == sorted(losses, reverse=True) and losses[-1] < 2.7)
    holds(f"accuracy {report['evaluation'][-1]['accuracy']} is above 0.25", report["evaluation"][-1]["accuracy"] > 0.25)
