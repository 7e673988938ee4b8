"""scripts/compare-allreduce without its set-up: runs all sides in turns, and prints the medians of the ratios."""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

PAGE = pathlib.Path("docs/measurements/collectives.md")
MARK = "<!-- written by scripts/compare-allreduce{} -->"


def iterations_for(size):
    """So that a run of one side takes about as long at each size."""
    return max(5, min(200, (64 << 20) // size))


def run_muster(given, ranks, size):
    environment = dict(os.environ)
    environment.pop("UCX_TLS", None)
    if given.tcp:
        environment["UCX_TLS"] = "tcp,self"
    line = subprocess.run([given.muster, "bench", "allreduce", "--ranks", str(ranks), "--bytes", str(size), "--iterations",
                           str(iterations_for(size)), "--json"], check=True, capture_output=True, text=True, env=environment).stdout
    found = json.loads(line.splitlines()[-1])
    if not found["correct"]:
        sys.exit("Muster's sums are wrong")
    return found["median_us"]


def run_mpi(given, ranks, size):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    command += ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"] if given.tcp else []
    done = subprocess.run([*command, f"{given.drivers}/mpi", str(size), str(iterations_for(size))], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("Open MPI's side failed:\n" + done.stderr)
    return statistics.median(json.loads(done.stdout.splitlines()[-1]))


def run_gloo(given, ranks, size):
    folder = tempfile.mkdtemp()
    sides = [subprocess.Popen([f"{given.drivers}/gloo", str(rank), str(ranks), folder, str(size), str(iterations_for(size))],
                              stdout=subprocess.PIPE, text=True) for rank in range(ranks)]
    outputs = [side.communicate()[0] for side in sides]
    shutil.rmtree(folder)
    if any(side.returncode != 0 for side in sides):
        sys.exit("Gloo's side failed")
    return statistics.median(max(times) for times in zip(*(json.loads(output) for output in outputs)))


def run_limit(given, size):
    done = subprocess.run([f"{given.drivers}/limit", str(size), str(iterations_for(size))], check=True, capture_output=True, text=True)
    return statistics.median(json.loads(done.stdout))


NEAR_US, FAR_US = 10, 15
ENOUGH = 3  # pairs, to say something of them alone


def distance(given):
    """How far from each other two processes are: 256 KiB, added and copied, take 7 µs where they share a cache."""
    time = run_limit(given, 256 << 10)
    return "near" if time < NEAR_US else "far" if time > FAR_US else "between"


SIDES = {"Muster": run_muster, "Open MPI": run_mpi, "Gloo": run_gloo}


def interval(values):
    """A 95 % interval of the median, by order statistics (binomial): no assumption on the distribution."""
    ordered, n = sorted(values), len(values)
    reach = int(n / 2 - 0.98 * n ** 0.5)
    return ordered[max(reach, 0)], ordered[min(n - 1 - reach, n - 1)]


def measure_limit(given, size=64 << 20):
    """What is left of the machine's memory speed, for two processes."""
    ours, bound = [], []
    for _ in range(given.pairs):
        ours.append(run_muster(given, 2, size))
        bound.append(run_limit(given, size))
    shares = [b / o for b, o in zip(bound, ours)]
    return (f"To add and copy the same bytes, {name_of(size)} between 2 processes, without a message between them takes\n"
            f"{statistics.median(bound):.0f} µs: {statistics.median(shares):.2f} ({interval(shares)[0]:.2f} to "
            f"{interval(shares)[1]:.2f}) of Muster's time.")


def measure(given):
    rows = []
    for ranks in given.ranks:
        for size in given.sizes:
            times = {name: [] for name in SIDES}
            places = []
            before = distance(given)
            for pair in range(given.pairs):
                order = list(SIDES) if pair % 2 == 0 else list(SIDES)[::-1]
                for name in order:
                    times[name].append(SIDES[name](given, ranks, size))
                after = distance(given)
                places.append(before if before == after else "moved")
                before = after
            rows.append(row_of(ranks, size, times, range(given.pairs)))
            print(text_of(rows[-1]), flush=True)
            for place in ("near", "far"):
                pairs = [pair for pair in range(given.pairs) if places[pair] == place]
                if ranks == 2 and not given.tcp and len(pairs) >= ENOUGH:
                    rows[-1][place] = row_of(ranks, size, times, pairs)
                    print(f"  {place}, {len(pairs)} pairs: {text_of(rows[-1][place])}", flush=True)
    return rows


def row_of(ranks, size, times, pairs):
    ours = [times["Muster"][pair] for pair in pairs]
    row = {"ranks": ranks, "size": size, "pairs": len(ours), "muster_us": statistics.median(ours)}
    for name in ("Open MPI", "Gloo"):
        theirs = [times[name][pair] for pair in pairs]
        ratios = [t / o for t, o in zip(theirs, ours)]
        row[name] = (statistics.median(theirs), statistics.median(ratios), *interval(ratios))
    return row


def name_of(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def text_of(row):
    text = f"| {row['ranks']} | {name_of(row['size'])} | {row['muster_us']:.1f} µs |"
    for name in ("Open MPI", "Gloo"):
        theirs, ratio, low, high = row[name]
        text += f" {theirs:.1f} µs | **{ratio:.2f}** ({low:.2f} to {high:.2f}) |"
    return text


HEAD = ("| processes | size | Muster | Open MPI | Open MPI / Muster | Gloo | Gloo / Muster |\n"
        "| --- | --- | --- | --- | --- | --- | --- |")


def text_by_place(rows):
    """Two processes, by where the system had put them before and after a pair."""
    found = [(place, row[place]) for place in ("near", "far") for row in rows if place in row]
    if not found:
        return []
    head = "| two processes | pairs | size | Muster | Open MPI | Open MPI / Muster | Gloo | Gloo / Muster |"
    lines = ["", "Those of these pairs for which the two cores were [near each other, or far](#near-and-far-cores), before and after:", "", head,
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    return lines + [f"| {place} | {row['pairs']} {text_of(row)[3:]}" for place, row in found]


def write(given, rows, limit):
    mark = MARK.format(" --tcp" if given.tcp else "")
    block = [mark, f"{datetime.date.today()}, {os.cpu_count()} cores, {given.pairs} pairs:", "", HEAD, *map(text_of, rows), *text_by_place(rows)]
    block += ["", limit, mark] if limit else [mark]
    page = PAGE.read_text()
    parts = page.split(mark)
    if len(parts) != 3:
        sys.exit(f"{PAGE} has no place for it: two lines {mark}")
    PAGE.write_text(parts[0] + "\n".join(block) + parts[2])
    print(f"written: {PAGE}")


def sizes(text):
    units = {"K": 1 << 10, "M": 1 << 20}
    return [int(part[:-1]) * units[part[-1]] if part[-1] in units else int(part) for part in text.upper().split(",")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", required=True)
    parser.add_argument("--drivers", required=True)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--ranks", type=lambda text: [int(part) for part in text.split(",")], default=[2, 4])
    parser.add_argument("--sizes", type=sizes, default=sizes("4K,256K,4M,64M"))
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    print(HEAD, flush=True)
    rows = measure(given)
    limit = "" if given.tcp else measure_limit(given)
    print(limit)
    if given.write:
        write(given, rows, limit)


if __name__ == "__main__":
    main()
