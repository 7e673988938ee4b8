"""check.py EMBED JOB FOLDER: the command line, child processes and threads give the same bits; the actor can stop a run."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from expect import equal, events, holds, run


def watch(how, name, *more):
    """Runs `embed watch`; gives the report and the events that the actor printed."""
    path = pathlib.Path(folder) / f"{name}-{how}.json"
    done = subprocess.run([embed, "watch", how, job, path, *more], stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, end="")
    mark = "watcher: "
    return json.loads(path.read_text()), [json.loads(line[len(mark):]) for line in done.stdout.splitlines()
                                          if line.startswith(mark)]


embed, job, folder = sys.argv[1:]
report = run([embed, "run", job], folder)
equal("outcome", report["outcome"], "completed")
holds(f"accuracy {report['evaluation'][-1]['accuracy']} is above 0.9", report["evaluation"][-1]["accuracy"] > 0.9)
wrong = subprocess.run([embed, "plan", job, "--set", "model.inputs=50"], stderr=subprocess.PIPE, text=True)
equal("another number of inputs: exit code", wrong.returncode, 2)
holds("it is said at its key: " + wrong.stderr.strip(),
      "model.inputs: the model takes 50 numbers, a sample of the source has 2" in wrong.stderr)
for how in ("processes", "threads"):
    watched, seen = watch(how, "watched")
    equal(f"{how}: outcome", watched["outcome"], "completed")
    equal(f"{how}: weights", watched["weights_sha256"], report["weights_sha256"])
    equal(f"{how}: what the actor saw", [e["event"] for e in seen], [e["event"] for e in watched["events"]])
    own = {e["pid"] for e in events(watched, "joined")}
    equal(f"{how}: processes", len(own), 2 if how == "processes" else 1)

    stopped, seen = watch(how, "stopped", "3", "train.epochs=1000000")
    equal(f"{how}, stopped: outcome", stopped["outcome"], "interrupted")
    equal(f"{how}, stopped: reason", stopped["reason"], "the watcher has seen enough")
    holds(f"{how}, stopped: {len(stopped['ledger'])} epochs, not a million", 3 <= len(stopped["ledger"]) < 1000000)
