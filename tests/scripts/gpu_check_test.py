"""What scripts/gpu-check does beside the GPU: the table, the verdicts, the time limit, the refusal of a machine without a GPU."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
import gpu_check
import gpu_check_build as build
import gpu_check_models as models
from gpu_check_machine import CannotRun, Clock, Commands
from gpu_check_table import Failed, Row, Stage, all_rows, failures, kept_stages, table


def raises(error):
    raise error


class InFolder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)


class Table(InFolder):
    def stage(self, name):
        return Stage(name, self.folder, say=lambda _: None)

    def test_every_outcome_is_a_row(self):
        stage = self.stage("tests")
        self.assertTrue(stage.check("fine", lambda: "3 of 3", bar="all"))
        self.assertFalse(stage.check("bad", raises, Failed("two failed", "1 of 3")))
        self.assertFalse(stage.check("absent", raises, CannotRun("no tool")))
        self.assertFalse(stage.check("broken", raises, KeyError("speed")))
        stage.end()
        kept = kept_stages(self.folder)
        lines = table(kept, ["tests"], "about this machine").splitlines()
        self.assertEqual(lines[0], "about this machine")
        self.assertIn("| fine | 3 of 3 | all | ok |", lines)
        self.assertIn("| bad | 1 of 3 |  | **FAILED**: two failed |", lines)
        self.assertIn("| absent |  |  | **could not run**: no tool |", lines)
        self.assertIn("| broken |  |  | **FAILED**: KeyError: 'speed' |", lines)
        self.assertEqual(lines[-1], "3 of 4 rows are not ok.")
        self.assertEqual([row.name for row in failures(kept, ["tests"])], ["bad", "absent", "broken"])

    def test_stages_add_up_and_a_repeated_one_replaces_its_rows(self):
        first = self.stage("build")
        first.check("built", raises, Failed("no compiler"))
        first.end()
        again = self.stage("build")
        again.check("built", lambda: "9 s")
        again.end()
        other = self.stage("kill")
        other.check("killed", lambda: "50 ms")
        other.end()
        kept = kept_stages(self.folder)
        self.assertEqual([(stage, row.name, row.verdict) for stage, row in all_rows(kept, ["kill"])],
                         [("build", "built", "ok"), ("kill", "killed", "ok")])
        self.assertIn("Not run yet: tests, bench, models.", table(kept, ["kill"], ""))
        self.assertEqual(len(failures(kept, ["build", "kill"])), 0)

    def test_what_was_cut_off_or_never_run_is_no_success(self):
        self.stage("bench").check("kernel", lambda: "3 TB/s")  # and never ended
        kept = kept_stages(self.folder)
        bad = failures(kept, ["bench", "kill"])
        self.assertEqual([(row.name, row.reason) for row in bad],
                         [("stage bench", "it was cut off; run it again"), ("stage kill", "it has not been run")])

    def test_a_cell_cannot_break_the_table(self):
        self.assertEqual(Row("a|b", "c\nd").line(), "| a\\|b | c d |  | ok |")

    def test_stages_are_chosen(self):
        given = gpu_check.arguments(["--deps", "d", "--stage", "kill", "--stage", "build"])
        self.assertEqual((given.stages, given.wanted), (["build", "kill"], ["build", "kill"]))
        self.assertEqual(gpu_check.arguments(["--deps", "d"]).stages, ["build", "tests", "bench", "models", "kill"])
        report = gpu_check.arguments(["--deps", "d", "--stage", "report"])
        self.assertEqual((report.stages, len(report.wanted)), ([], 5))


class Source(InFolder):
    def test_only_what_changed_gets_newer(self):
        source, target = self.folder / "source", self.folder / "target"
        (source / "gpu").mkdir(parents=True)
        (source / "build").mkdir()
        for name in ("gpu/a.cpp", "gpu/b.cpp", "gone.cpp", "build/c.o"):
            (source / name).write_text(name)

        def copied():
            gpu_check.copy_changed(source, target, leave_out=lambda name: name == "build")
            return {str(path.relative_to(target)): path.read_text() for path in target.rglob("*") if path.is_file()}

        self.assertEqual(copied(), {name: name for name in ("gpu/a.cpp", "gpu/b.cpp", "gone.cpp")})
        for path in target.rglob("*.cpp"):
            os.utime(path, (1000, 1000))
        (source / "gpu/a.cpp").touch()
        (source / "gpu/b.cpp").write_text("changed")
        (source / "gone.cpp").unlink()
        self.assertEqual(copied(), {"gpu/a.cpp": "gpu/a.cpp", "gpu/b.cpp": "changed"})
        self.assertEqual((target / "gpu/a.cpp").stat().st_mtime, 1000)
        self.assertGreater((target / "gpu/b.cpp").stat().st_mtime, 1000)


class Commanded(InFolder):
    def commands(self, limit_s=60):
        return Commands(self.folder / "log", Clock(limit_s + Clock.RESERVE_S), dict(os.environ))

    def test_a_command_says_what_it_did(self):
        done = self.commands().run(["sh", "-c", "echo one; echo two; exit 3"])
        self.assertEqual((done.code, done.timed_out, done.last_words(), done.last_words(2)), (3, False, "two", "one / two"))

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(CannotRun, "^muster: No such file"):
            self.commands().run([self.folder / "muster", "run"])

    def test_a_command_ends_with_all_that_it_started(self):
        mark = self.folder / "late"
        began = time.monotonic()
        done = self.commands().run(["sh", "-c", f"(sleep 3; touch {mark}) & sleep 60"], 0.5)
        self.assertTrue(done.timed_out)
        self.assertLess(time.monotonic() - began, 2.5)
        time.sleep(max(0, 3.5 - (time.monotonic() - began)))
        self.assertFalse(mark.exists())

    def test_the_whole_has_a_limit(self):
        commands = self.commands(limit_s=1)
        with self.assertRaisesRegex(CannotRun, "out of time"):
            commands.clock.need(30)
        self.assertTrue(commands.run(["sleep", "60"]).timed_out)


class Verdicts(InFolder):
    def test_kernels_are_held_against_the_copy(self):
        def result(name, rate, share):
            return {"name": f"{name}/manual_time", "run_type": "iteration", "GB/s": rate, "of_copy": share}

        results = [result("cpu/add", 20, 0.5), result("cuda:0/copy", 3000, 1), result("cuda:0/add", 2700, 0.9),
                   result("cuda:0/cast", 2000, 0.667), result("cuda:0/copy_out", 55, 0.02),
                   {"name": "cuda:0/norm", "error_occurred": True, "error_message": "no"}]
        rows = {row.name: row for row in build.benched(results)}
        self.assertEqual((rows["kernel add"].figure, rows["kernel add"].verdict), ("2.70 TB/s, **0.90** of the copy", "ok"))
        self.assertEqual((rows["kernel cast"].verdict, rows["kernel norm"].reason), ("FAILED", "no"))
        self.assertEqual((rows["pinned staging, copy_out"].figure, len(rows)), ("55.0 GB/s", 5))
        self.assertEqual({row.verdict for row in build.benched(results[:1])}, {"FAILED"})
        self.assertEqual(len(build.benched(results[:1])), 3)

    def test_a_test_that_was_left_out_is_named(self):
        (self.folder / "a.xml").write_text('<testsuites><testsuite><testcase name="Adds" classname="Kernels" result="completed"/>'
                                           '<testcase name="Copies" classname="Kernels" result="skipped"><skipped message='
                                           '"a.cpp:3&#x0A;no GPU"/></testcase></testsuite></testsuites>')
        self.assertEqual((build.skipped_cases(self.folder), build.cases(self.folder)), (["Kernels.Copies (no GPU)"], 1))

    def test_only_our_own_kernels_are_sanitized(self):
        text = json.dumps({"tests": [{"name": "test_cuda", "command": ["/b/bin/test_cuda", "--x"]}, {"name": "not_built"},
                                     {"name": "kernels_bench_runs", "command": ["/b/bin/kernels_bench"]}]})
        self.assertEqual(build.sanitized_commands(text, build.SANITIZED), {"test_cuda": ["/b/bin/test_cuda", "--x"]})

    def test_the_summary_of_every_ctest_is_understood(self):
        old = "Test project /b\n1/2 Test #1: a ... Passed 0.01 sec\n\n"
        self.assertEqual(build.ctest_summary(old + "100% tests passed, 0 tests failed out of 2\n\nTotal"), (0, 2))
        self.assertEqual(build.ctest_summary(old + "50% tests passed, 1 tests failed out of 2\n\nTotal"), (1, 2))
        self.assertEqual(build.ctest_summary(old + "50% tests passed, 1 test failed out of 2\n\nTotal"), (1, 2))
        self.assertEqual(build.ctest_summary(old + "100% tests passed out of 2\n\nTotal"), (0, 2))
        self.assertIsNone(build.ctest_summary(old))

    def sanitizer(self, words, code):
        """What sanitize() makes of a compute-sanitizer that says this."""
        program = self.folder / "compute-sanitizer"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{words}\nEND\nexit {code}\n")
        program.chmod(0o755)
        check = gpu_check.Check.__new__(gpu_check.Check)
        check.clock = Clock(60)
        check.commands = Commands(self.folder / "log", check.clock, dict(os.environ))
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{self.folder}:{path}"
        try:
            return build.sanitize(check, "memcheck", ["test"])
        finally:
            os.environ["PATH"] = path

    def test_the_sanitizer_is_understood(self):
        self.assertRegex(self.sanitizer("========= ERROR SUMMARY: 0 errors", 0), "^0 errors")
        self.assertRegex(self.sanitizer("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", 0), "^0 errors")
        with self.assertRaisesRegex(Failed, "Invalid __global__ write"):
            self.sanitizer("========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 2 errors", 86)
        with self.assertRaisesRegex(Failed, "no summary"):
            self.sanitizer("", 1)
        with self.assertRaisesRegex(CannotRun, "Device not supported"):
            self.sanitizer("========= Error: Device not supported", 1)

    def test_memory_is_held_against_the_plan(self):
        plan = models.planned_bytes("job x\nreplica 0 on cuda:0: shards 0-3 (unknown an epoch), memory 2.0 GiB (state 1.0 GiB)\n", "cuda:0")
        self.assertEqual(plan, 2 << 30)
        self.assertIn("foretold 2.00 GiB", models.memory_verdict(int(2.9 * plan / 2), int(0.5 * plan / 2), plan))
        with self.assertRaisesRegex(Failed, "beside context and libraries"):
            models.memory_verdict(2 * plan, plan // 4, plan)

    def test_speed_leaves_the_first_epoch_out(self):
        example = next(example for example in models.EXAMPLES if example.model == "gpt2")
        report = {"events": [{"event": "epoch", "time_ms": moment} for moment in (5000, 6000, 7000)] + [{"event": "view", "time_ms": 1}],
                  "ledger": [{"used": 100}, {"used": 10}, {"used": 30}]}
        self.assertEqual(models.speed(report, example), 20 * 1024)
        with self.assertRaises(Failed):
            models.speed({"events": [], "ledger": []}, example)

    def race(self, **parts):
        race = models.Race(None, models.EXAMPLES[0])
        vars(race).update(parts)
        return race

    def report(self, samples_per_second):
        return {"events": [{"event": "epoch", "time_ms": 0}, {"event": "epoch", "time_ms": 1000}], "weights_sha256": "a" * 64,
                "ledger": [{"used": 1}, {"used": samples_per_second}], "training": [{"loss": 2.0}, {"loss": 1.0}]}

    def torch(self, speed, bound=1.0):
        return {(variant, which): {"speed": speed * (bound if which else 1), "samples_per_second": speed, "peak_bytes": 0, "note": ""}
                for variant in ("micro", "big") for which in (False, True)}

    def test_the_bar_is_plain_pytorch(self):
        faster = self.race(muster=[self.report(120)], torch=[self.torch(100, 0.8)])
        self.assertIn("**1.20**", faster.against("micro", False))
        self.assertEqual(faster.determinism(), "PyTorch is slower by: equal micro-batches 20 %, one big batch 20 %")
        slower = self.race(muster=[self.report(99)], torch=[self.torch(100)])
        self.assertIn("**0.99**", slower.against("big", False))
        with self.assertRaisesRegex(Failed, "below the bar"):
            slower.against("micro", False)

    def test_one_side_without_the_other(self):
        alone = self.race(torch=[self.torch(100)], reasons={"muster": Failed("no such device")})
        with self.assertRaisesRegex(Failed, "no such device"):
            alone.trains()
        with self.assertRaisesRegex(CannotRun, "Muster did not train; PyTorch 100"):
            alone.against("micro", False)
        with self.assertRaisesRegex(CannotRun, "did not train on one"):
            alone.same_bits()
        other = self.race(muster=[self.report(100)], reasons={"torch": CannotRun("out of memory")})
        with self.assertRaisesRegex(CannotRun, "out of memory"):
            other.against("micro", False)


class Refusal(InFolder):
    def test_without_a_gpu_it_says_so(self):
        done = subprocess.run([str(SCRIPTS / "gpu-check"), "--deps", str(self.folder), "--build", str(self.folder / "build")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^gpu-check: no CUDA device: (no driver|the driver sees no GPU|the driver fails with error)")
        self.assertFalse((self.folder / "build").exists())


unittest.main()
