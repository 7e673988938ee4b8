"""scripts/faults without its set-up: breaks runs of a job in every way, and compares each with an undisturbed one."""
import argparse
import subprocess
import sys
import time

from fault_cases import coordinator, ends, loaders, machines, replicas
from fault_cases.run import Failed, Run, expect

CASES = {case.name: case for module in (replicas, coordinator, loaders, machines, ends) for case in module.CASES}


def undisturbed(given, mathematics):
    run = Run(given, *mathematics, command=("run", "--replicas", "1"))
    try:
        return run.finish()
    finally:
        run.end()


def compare(report, expected):
    for key in ("weights_sha256", "steps", "samples"):
        expect(report[key] == expected[key], f"{key} is {report[key]}, undisturbed it is {expected[key]}")
    rows = [{key: row[key] for key in ("epoch", "complete", "used", "repeated", "missed", "dropped")} for row in report["ledger"]]
    wanted = [{key: row[key] for key in rows[0]} for row in expected["ledger"]]
    expect(rows == wanted, f"the ledger is {rows}, undisturbed it is {wanted}")
    expect(all(row["repeated"] == row["missed"] == 0 for row in rows), f"the ledger is {rows}")


def told(report):
    counts = report["event_counts"]
    names = ("corrupt", "went_back", "lost", "left", "refused", "restarted", "resumed", "paused", "suspected", "late", "view")
    return ", ".join(f"{counts[name]} {name}" for name in names if counts.get(name))


def judge(given, case, expected):
    """(verdict, what there is to say)"""
    try:
        report = case.run(given)
        if report is None:
            return "cannot run", ""
        compare(report, expected)
        return "same bits", told(report)
    except (Failed, OSError, subprocess.SubprocessError, LookupError, RuntimeError, ValueError) as failure:
        return "FAILED", str(failure) if isinstance(failure, Failed) else f"{type(failure).__name__}: {failure}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    given = parser.parse_args()
    if given.list:
        print("\n".join(CASES))
        return
    for name in given.cases:
        if name not in CASES:
            sys.exit(f"there is no case {name}: {', '.join(CASES)}")
    expected = {(): undisturbed(given, ())}
    print(f"undisturbed, one replica: weights_sha256 {expected[()]['weights_sha256']}")
    verdicts = []
    for name in given.cases or CASES:
        mathematics = CASES[name].mathematics
        if mathematics not in expected:
            expected[mathematics] = undisturbed(given, mathematics)
        began = time.monotonic()
        verdict, said = judge(given, CASES[name], expected[mathematics])
        verdicts.append(verdict)
        print(f"{name:26} {verdict:10} {time.monotonic() - began:6.1f} s  {said}", flush=True)
    print(f"{verdicts.count('same bits')} of {len(verdicts)} with the same bits, {verdicts.count('FAILED')} failed, "
          f"{verdicts.count('cannot run')} cannot run here")
    if "FAILED" in verdicts:
        sys.exit(1)


main()
