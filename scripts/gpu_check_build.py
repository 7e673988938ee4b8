"""The stages `build`, `tests` and `bench` of scripts/gpu-check."""
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

from gpu_check_machine import CannotRun, tool
from gpu_check_table import FAILED, OK, Failed, Row

COPY_SHARE = 0.85  # of the GPU's measured copy bandwidth, for kernels that are bound by memory
STAGING = "copy_in|copy_out"  # benchmarks of copies between the GPU and pinned memory of the host
# Tests of label gpu whose kernels compute-sanitizer looks at. Not those of libtorch: they are another project's kernels.
SANITIZED = "^test_cuda"


# ------------------------------------------------------------ build

def flags(check):
    """CMake's arguments. DT_RPATH, not DT_RUNPATH: it holds for what a library of the bundle needs, too."""
    libraries = check.deps / "usr/lib/x86_64-linux-gnu"
    link = f"-Wl,--disable-new-dtags,-rpath,{libraries}"
    given = ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={check.deps / 'usr'}", f"-DTorch_DIR={check.torch['cmake']}/Torch",
             f"-DMUSTER_PYTHON={sys.executable}"]
    return given + [f"-DCMAKE_{kind}_LINKER_FLAGS={link}" for kind in ("EXE", "SHARED", "MODULE")]


def configure(check):
    if not (check.build / "build.ninja").is_file() and (check.build / "CMakeCache.txt").is_file():
        (check.build / "CMakeCache.txt").unlink()  # of a configuration that was cut off
    done = check.commands.run(["cmake", "-S", check.root, "-B", check.build, "-G", "Ninja", *flags(check)], 180)
    if done.code != 0:
        errors = re.findall(r"CMake Error.*\n+\s*(.+)", done.text)
        raise Failed(errors[0].strip() if errors else done.last_words())
    left_out = re.findall(r"--\s+(.+): left out", done.text)
    if left_out:
        raise Failed(f"left out: {', '.join(left_out)}", f"{done.seconds:.0f} s")
    return f"{done.seconds:.0f} s"


def compile_all(check):
    ninja = shutil.which("ninja") or tool("ninja-build")
    done = check.commands.run([ninja, "-C", check.build, "-k", "0", "-j", check.given.jobs], 3600)
    steps = re.findall(r"^\[(\d+)/(\d+)\]", done.text, re.MULTILINE)
    progress = f"{steps[-1][0]} of {steps[-1][1]} steps, {done.seconds:.0f} s" if steps else f"{done.seconds:.0f} s"
    if done.timed_out:
        raise CannotRun(f"out of time after {progress}; run the stage again, it goes on from there")
    if done.code != 0:
        failed = re.findall(r"^FAILED: (?:\[code=\d+\] )?(\S+)", done.text, re.MULTILINE)
        first = re.search(r"^.*\berror\b.*$", done.text, re.MULTILINE)
        names = ", ".join(failed[:4]) + (", ..." if len(failed) > 4 else "")
        raise Failed(f"{names}: {first.group(0).strip() if first else done.last_words()}", progress)
    return progress


def version(check):
    done = check.commands.run([check.muster, "--version"], 60)
    if done.code != 0 or "left out" in done.text:
        raise Failed(f"exit code {done.code}: {done.last_words(9)}")
    return done.last_words(9)


def named_devices(check):
    done = check.commands.run([check.muster, "devices", "--json"], 60)
    if done.code != 0:
        raise Failed(f"exit code {done.code}: {done.last_words()}")
    found = json.loads(done.text.strip().splitlines()[-1])
    ucx = found["ucx"]
    figure = (f"{', '.join(gpu['name'] + ' ' + gpu['gpu'] for gpu in found['gpus'])}; UCX {ucx['version']} moves memory of: "
              f"{', '.join(ucx['memory_types']) or ucx['reason']}")
    if not found["cuda"]["usable"]:
        raise Failed(f"no GPU is to be used: {found['cuda']['reason']}", figure)
    return figure


def build(check, stage):
    if stage.check("CMake finds all that is needed", configure, check) and stage.check("everything is built", compile_all, check):
        stage.check("muster --version", version, check)
        stage.check("muster devices", named_devices, check)


# ------------------------------------------------------------ tests

def skipped_cases(folder):
    """What GoogleTest left out, with the reason."""
    found = []
    for file in sorted(folder.glob("*.xml")):
        for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase"):
            if case.get("result") == "skipped":
                skipped = case.find("skipped")
                words = (skipped.get("message") or "").strip().splitlines() if skipped is not None else []
                found.append(f"{case.get('classname')}.{case.get('name')}" + (f" ({words[-1]})" if words else ""))
    return found


def cases(folder):
    return sum(1 for file in folder.glob("*.xml") for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase")
               if case.get("result") == "completed")


def ctest_summary(text):
    """(tests that failed, all tests), or None where ctest was cut off. Since CMake 4 it does not say "0 tests failed"."""
    found = re.search(r"^\d+% tests passed(?:, (\d+) tests? failed)? out of (\d+)", text, re.MULTILINE)
    return (int(found.group(1) or 0), int(found.group(2))) if found else None


def labeled(check, label, parallel):
    """Every test with the label; where there is a GPU, none has a reason to be left out."""
    results = check.kept / f"results-{label}"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    done = check.commands.run(["ctest", "--test-dir", check.build, "-L", f"^{label}$", "--output-on-failure", "--no-tests=error",
                               "--parallel", parallel], 420, GTEST_OUTPUT=f"xml:{results}/")
    if "No tests were found" in done.text:
        raise Failed(f"there is no test with the label {label}")
    summary = ctest_summary(done.text)
    skipped = re.findall(r"^\s*\d+ - (\S+) \((?:Skipped|Disabled)\)", done.text, re.MULTILINE) + skipped_cases(results)
    left_out = f", left out: {', '.join(skipped)}" if skipped else ""
    if summary is None:
        raise CannotRun(f"out of time after {done.seconds:.0f} s" if done.timed_out else done.last_words())
    bad, total = summary
    figure = f"{total - bad} of {total} tests ({cases(results)} cases), {done.seconds:.0f} s{left_out}"
    if bad or done.code != 0:
        names = re.findall(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted|Not Run|ILLEGAL|.*Exception.*)\)", done.text,
                           re.MULTILINE)
        raise Failed(", ".join(names) or done.last_words(), figure)
    if skipped:
        raise Failed("with a GPU none of them may be left out", figure)
    return figure


def sanitized_commands(text, wanted):
    """{test: command} of those tests that are programs of the build and whose names match."""
    found = {}
    for test in json.loads(text)["tests"]:
        command = test.get("command", [])
        if command and re.search(wanted, test["name"]) and "/bin/" in command[0] and os.path.basename(command[0]).startswith("test_"):
            found[test["name"]] = command
    return found


def sanitize(check, which, command):
    check.clock.need(20)
    program = tool("compute-sanitizer", "/usr/local/cuda/compute-sanitizer")
    # Tests ask for GPUs that are not there: that CUDA refuses them is no error.
    quiet = ("--report-api-errors", "no") if which == "memcheck" else ()
    done = check.commands.run([program, "--tool", which, *quiet, "--error-exitcode", 86, *command], 420)
    errors = re.search(r"ERROR SUMMARY: (\d+) error", done.text) or re.search(r"RACECHECK SUMMARY: (\d+) hazard", done.text)
    if done.timed_out:
        raise CannotRun(f"out of time after {done.seconds:.0f} s")
    if "Device not supported" in done.text:
        raise CannotRun("compute-sanitizer says: Device not supported")
    if errors is None:
        raise Failed(f"exit code {done.code}, and no summary: {done.last_words()}")
    figure = f"{errors.group(1)} errors, {done.seconds:.0f} s"
    if int(errors.group(1)) or done.code != 0:
        first = re.search(r"^=+ ((?:Invalid|Error|Warning|Race|Program).*)$", done.text, re.MULTILINE)
        raise Failed(f"exit code {done.code}: {first.group(1) if first else done.last_words()}", figure)
    return figure


def tests(check, stage):
    stage.check("tests with the label gpu", labeled, check, "gpu", 1, bar="all")
    stage.check("tests with the label unit", labeled, check, "unit", 8, bar="all")
    listed = check.commands.run(["ctest", "--test-dir", check.build, "-L", "^gpu$", "--show-only=json-v1"], 60)
    try:
        commands = sanitized_commands(listed.text, check.given.sanitize or SANITIZED)
    except ValueError:
        commands = {}
    tools = ("memcheck",) if check.quick else ("memcheck", "racecheck")
    for which in tools:
        for name, command in commands.items():
            stage.check(f"compute-sanitizer {which}: {name}", sanitize, check, which, command, bar="0 errors")
        if not commands:
            stage.check(f"compute-sanitizer {which}", no_kernel_tests, check, bar="0 errors")


def no_kernel_tests(check):
    raise Failed(f"no test with the label gpu is called like {check.given.sanitize or SANITIZED}")


# ------------------------------------------------------------ bench

def bandwidth(gigabytes):
    return f"{gigabytes / 1000:.2f} TB/s" if gigabytes >= 1000 else f"{gigabytes:.1f} GB/s"


def benched(results):
    """A row for each kernel on the GPU: bytes a second, and the share of the GPU's plain copy, which the program measures, too."""
    rows = []
    for result in results:
        device, name, *_ = result["name"].split("/")
        if not device.startswith("cuda") or result.get("run_type", "iteration") != "iteration":
            continue
        if result.get("error_occurred"):
            rows.append(Row(f"kernel {name}", verdict=FAILED, reason=result.get("error_message", "")))
            continue
        rate = bandwidth(result["GB/s"])
        if name == "copy":
            rows.append(Row("copy on the GPU", rate))
        elif re.match(STAGING, name):
            rows.append(Row(f"pinned staging, {name}", rate))
        else:
            share = result["of_copy"]
            fits = share >= COPY_SHARE
            rows.append(Row(f"kernel {name}", f"{rate}, **{share:.2f}** of the copy", f"{COPY_SHARE:.2f}", OK if fits else FAILED,
                            "" if fits else "below the bar"))
    for wanted in ("copy on the GPU", "kernel", "pinned staging"):
        if not any(row.name.startswith(wanted) for row in rows):
            rows.append(Row(wanted, verdict=FAILED, reason="kernels_bench did not measure it on the GPU"))
    return rows


def bench(check, stage):
    program = check.build / "bin" / "kernels_bench"
    results = check.kept / "kernels_bench.json"
    results.unlink(missing_ok=True)
    found = []

    def run():
        if not program.is_file():
            raise CannotRun(f"{program.name} is not built")
        done = check.commands.run([program, "--benchmark_filter=^cuda", f"--benchmark_out={results}", "--benchmark_out_format=json",
                                   *(["--benchmark_min_time=0.05"] if check.quick else [])], 240)
        if done.code != 0 or not results.is_file():
            raise Failed("out of time" if done.timed_out else f"exit code {done.code}: {done.last_words()}")
        try:
            found.extend(json.loads(results.read_text())["benchmarks"])
        except ValueError:
            raise Failed(f"it measured nothing: {done.last_words()}") from None
        return f"{done.seconds:.0f} s"

    if stage.check("kernels_bench", run):
        for row in benched(found):
            stage.add(row)
