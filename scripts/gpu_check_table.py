"""The table of scripts/gpu-check: rows with a figure, a bar and a verdict; kept by stage, so that stages may be run one by one."""
import dataclasses
import datetime
import json
import time

from gpu_check_machine import CannotRun

STAGES = ("build", "tests", "bench", "models", "kill")
OK, FAILED, CANNOT = "ok", "FAILED", "could not run"


class Failed(Exception):
    """A check that ran and does not hold; `figure` is what it found, as far as it came."""

    def __init__(self, reason, figure=""):
        super().__init__(reason)
        self.figure = figure


@dataclasses.dataclass
class Row:
    name: str
    figure: str = ""
    bar: str = ""
    verdict: str = OK
    reason: str = ""

    def line(self):
        verdict = self.verdict if self.verdict == OK else f"**{self.verdict}**" + (f": {self.reason}" if self.reason else "")
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in
                                 (self.name, self.figure, self.bar, verdict)) + " |"


class Stage:
    """The rows of one stage: each is written down as soon as it is known, so that a command that is cut off leaves what it had."""

    def __init__(self, name, folder, say=print):
        self.name, self.folder, self.say = name, folder, say
        self.rows, self.began = [], time.monotonic()
        self.save()

    def check(self, name, function, *arguments, bar=""):
        """A row from a function that returns its figure, or throws Failed or CannotRun. Returns whether it is ok."""
        row = Row(name, bar=bar)
        try:
            row.figure = function(*arguments) or ""
        except Failed as failure:
            row.verdict, row.reason, row.figure = FAILED, str(failure), failure.figure
        except CannotRun as reason:
            row.verdict, row.reason = CANNOT, str(reason)
        except Exception as error:  # a mistake of this script must not cost the rows of the others
            row.verdict, row.reason = FAILED, f"{type(error).__name__}: {error}"
        return self.add(row)

    def add(self, row):
        self.rows.append(row)
        self.save()
        self.say(f"  {row.verdict:13} {row.name}: {row.figure or row.reason}" + (f"  ({row.reason})" if row.figure and row.reason else ""))
        return row.verdict == OK

    def save(self, ended=False):
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {"rows": [dataclasses.asdict(row) for row in self.rows], "seconds": time.monotonic() - self.began, "ended": ended,
                "when": datetime.datetime.now().isoformat(timespec="seconds")}
        (self.folder / f"{self.name}.json").write_text(json.dumps(kept, indent=1))

    def end(self):
        self.save(ended=True)
        self.say(f"stage {self.name} took {time.monotonic() - self.began:.0f} s")


def kept_stages(folder):
    """{stage: what was kept of it}, in the order of the stages."""
    found = {}
    for name in STAGES:
        file = folder / f"{name}.json"
        if file.is_file():
            kept = json.loads(file.read_text())
            kept["rows"] = [Row(**row) for row in kept["rows"]]
            found[name] = kept
    return found


def all_rows(kept, wanted):
    """(stage, row) of every stage that is kept; of those that were wanted and have no result, or not all, a row that says so."""
    rows = []
    for stage in STAGES:
        if stage in kept:
            rows += [(stage, row) for row in kept[stage]["rows"]]
            if not kept[stage]["ended"]:
                rows.append((stage, Row(f"stage {stage}", verdict=CANNOT, reason="it was cut off; run it again")))
        elif stage in wanted:
            rows.append((stage, Row(f"stage {stage}", verdict=CANNOT, reason="it has not been run")))
    return rows


def failures(kept, wanted):
    return [row for stage, row in all_rows(kept, wanted) if stage in wanted and row.verdict != OK]


def table(kept, wanted, about):
    """The page: `about` in one line, then every row."""
    rows = [row for _, row in all_rows(kept, wanted)]
    lines = [about, "", "| check | found | bar | |", "| --- | --- | --- | --- |", *(row.line() for row in rows)]
    times = ", ".join(f"{stage} {kept[stage]['seconds']:.0f} s" for stage in kept)
    bad = sum(row.verdict != OK for row in rows)
    missing = [stage for stage in STAGES if stage not in kept and stage not in wanted]
    lines += ["", f"Stages: {times or 'none'}." + (f" Not run yet: {', '.join(missing)}." if missing else "")]
    lines.append(f"{bad} of {len(rows)} rows are not ok." if bad else "Every row is ok.")
    return "\n".join(lines) + "\n"
