"""overlap_test.py PROGRAM: what of the reduction's time the backward pass hides, between two hosts with two replicas each and
links of 100 Mbit/s.

The same job is run with the gradient as one bucket, which goes out behind the pass, and with buckets of 64 KiB, which go out
during it. The weights must be the same; with one bucket nothing is hidden, with many something is. There are no audits: a replica
that audits computes while its own sums are under way. Times are printed, not judged: the replicas share the cores of one machine.
"""
import sys

from hosts import Hosts, judge
from traffic_test import MEGABITS, expect, run

FASHION = "/usr/share/datasets/fashion-mnist"
STEPS = 12
BUCKETS = {"one bucket": "64MiB", "buckets of 64 KiB": "64KiB"}

JOB = f"""
name = "overlap"
seed = 5
[model]
name = "fashion_cnn"
[data]
source = "idx"
train_images = "{FASHION}/train-images-idx3-ubyte.gz"
train_labels = "{FASHION}/train-labels-idx1-ubyte.gz"
test_images = "{FASHION}/t10k-images-idx3-ubyte.gz"
test_labels = "{FASHION}/t10k-labels-idx1-ubyte.gz"
take = {STEPS * 4 * 64}
[train]
shards = 4
batch = 64
steps = {STEPS}
evaluate = false
audit = "off"
[cluster]
replicas = 4
start_patience = "120s"
detect = {{{{ patience = "30s" }}}}
[reduce]
bucket = "{{bucket}}"
"""


def ms(report, phase):
    return max(row[phase] for row in report["phases"]) / STEPS * 1e3


def check(program, folder):
    reports = {}
    with Hosts(2) as hosts:
        hosts.limit(MEGABITS)
        for number, (name, bucket) in enumerate(BUCKETS.items()):
            place = folder / str(number)
            place.mkdir()
            job = place / "job.toml"
            job.write_text(JOB.format(bucket=bucket))
            reports[name], _ = run(hosts, 2, program, job, "auto")
    hashes = {report["weights_sha256"] for report in reports.values()}
    expect("the same weights", len(hashes) == 1 and "" not in hashes, hashes)
    whole, parts = reports.values()
    expect("nothing of one bucket is hidden", all(row["reduce_hidden_s"] == 0 for row in whole["phases"]), ms(whole, "reduce_hidden_s"))
    expect("of many, something is", all(row["reduce_hidden_s"] > 0 for row in parts["phases"]), ms(parts, "reduce_hidden_s"))
    print("| gradient | computing | of this with buckets under way (hidden) | reduction behind it (exposed) | step |")
    print("| --- | --- | --- | --- | --- |")
    for name, report in reports.items():
        print(f"| {name} | {ms(report, 'compute_s'):.0f} ms | {ms(report, 'reduce_hidden_s'):.0f} ms | {ms(report, 'reduce_s'):.0f} ms "
              f"| {report['train_seconds'] / STEPS * 1e3:.0f} ms |")


if __name__ == "__main__":
    sys.exit(judge(lambda folder: check(sys.argv[1], folder), shaped=True))
