"""Cases: the coordinator dies, freezes, is cut off, or comes back with what it no longer knows."""
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from fault_cases.run import LONG, Case, Run, by_hand, expect, free_port, has_thread, kept_in, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "namespaces"))
from hosts import Hosts, cannot_run  # noqa: E402

PORT = 7100
LISTEN = ("--listen", f"10.77.0.1:{PORT}", "--insecure")
TRANSPORT = {"UCX_TLS": "tcp,self"}  # namespaces share memory


def dies(run, _):
    run.event("epoch", epoch=1)
    run.restart()
    run.event("restarted")


def dies_twice(run, where):
    run.event("epoch", epoch=1)
    for _ in range(2):
        run.restart()
        run.event("restarted")
        run.governs(where)


def dies_with_a_replica(run, where):
    run.event("epoch", epoch=1)
    run.kill(1)
    run.restart()
    run.event("restarted")
    run.event("view", members=2)
    run.governs(where)


def dies_before_the_first_view(given):
    """The replicas that have joined find the one that is started again."""
    where = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as kept:
        run = Run(given, *kept_in(kept), command=("coordinate", "--listen", where, "--set", "cluster.replicas=3"))
        try:
            run.event("started")
            first = [run.join(where), run.join(where)]
            # The coordinator has taken them in: they get ready.
            until(lambda: all(has_thread(process, "muster-compute") for process in first), "replica that was taken in")
            run.restart()
            run.join(where)
            run.event("view", view=1)
            expect({process.pid for process in first} < set(run.pids.values()), "they have not found it")
            return run.finish()
        finally:
            run.end()


def freezes(run, where):
    """For longer than anybody's patience."""
    run.event("epoch", epoch=1)
    run.process.send_signal(signal.SIGSTOP)
    time.sleep(4)  # the length of the fault
    run.process.send_signal(signal.SIGCONT)
    run.governs(where)
    lost = [event for event in run.seen if event["event"] == "lost"]
    expect(not lost, f"the coordinator stood still, and took {len(lost)} replicas for lost")


def all_freeze(run, _):
    """All replicas stand still for longer than the patience: the coordinator waits for them."""
    run.event("epoch", epoch=1)
    run.kill(0, 1, 2, blow=signal.SIGSTOP)
    run.event("paused")
    time.sleep(1)  # the length of the fault
    run.kill(0, 1, 2, blow=signal.SIGCONT)
    run.goes_on()


def returns_with_an_older_journal(given):
    """The journal was restored from a copy of before the last coordinator and the last view."""
    where = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as copies:
        run = Run(given, *kept_in(kept), *LONG, command=("coordinate", "--listen", where, "--set", "cluster.replicas=3"))
        try:
            for _ in range(3):
                run.join(where)
            run.event("epoch", epoch=1)
            journals = list(pathlib.Path(kept).glob("*.journal"))
            expect(journals, "there is no journal")
            for journal in journals:
                shutil.copy(journal, copies)
            run.restart()
            run.event("restarted", term=2)
            run.kill(2)
            run.event("view", members=2)
            run.process.kill()
            run.process.wait()
            for journal in journals:
                shutil.copy(pathlib.Path(copies) / journal.name, kept)
            run.start()
            run.event("restarted")
            run.governs(where)
            return run.finish()
        finally:
            run.end()


def two_on_one_folder(given):
    """A second coordinator on the same checkpoint.folder is refused, and names the first; the first one is not disturbed."""
    with tempfile.TemporaryDirectory() as kept:
        where = f"127.0.0.1:{free_port()}"
        command = ("coordinate", "--set", "cluster.replicas=3", "--listen")
        run = Run(given, *kept_in(kept), *LONG, command=(*command, where))
        try:
            for _ in range(3):
                run.join(where)
            run.event("epoch", epoch=1)
            second = Run(given, *kept_in(kept), *LONG, command=(*command, f"127.0.0.1:{free_port()}"))
            try:
                expect(second.process.wait(60) != 0, "the second coordinator was not refused")
                expect(str(run.process.pid) in second.said(), f"it does not say who holds the folder: {second.said()}")
            finally:
                second.end()
            run.goes_on()
            return run.finish()
        finally:
            run.end()


def between_hosts(act, *more, replicas=2, loaders=0):
    """The coordinator alone on host 1, a replica or loader on each host behind it: `act(run, hosts)` breaks it."""
    def case(given):
        reason = cannot_run()
        if reason:
            print(f"cannot run: {reason}")
            return None
        with tempfile.TemporaryDirectory() as kept, Hosts(1 + replicas + loaders) as hosts:
            run = Run(given, *kept_in(kept), *LONG, *more, "--set", f"cluster.loaders={loaders}",
                      command=("coordinate", *LISTEN, "--set", f"cluster.replicas={replicas}"), prefix=hosts.prefix(1))
            try:
                for host in range(2, 2 + replicas + loaders):
                    what = () if host < 2 + replicas else ("--loader",)
                    run.join(f"10.77.0.1:{PORT}", *what, prefix=hosts.prefix(host), environment=TRANSPORT)
                run.event("epoch", epoch=1)
                act(run, hosts)
                return run.finish()
            finally:
                run.end()
    return case


def governs(run, hosts):
    run.governs(f"10.77.0.1:{PORT}", prefix=hosts.prefix(2), environment=TRANSPORT)


def link_down(seconds):
    def act(run, hosts):
        hosts.unplug(1)
        run.event("paused")  # after the patience, a second
        time.sleep(seconds - 1)  # the length of the fault
        hosts.heal()
        run.event("heard_again")
        governs(run, hosts)
        lost = [event for event in run.seen if event["event"] == "lost"]
        expect(not lost, f"the coordinator's own link was down, and it took {len(lost)} replicas for lost")
    return act


def loses_power(run, hosts):
    hosts.power_off(1)
    run.process.wait()
    time.sleep(14)  # as long as a host takes to start
    hosts.power_on(1)
    run.start()
    run.event("restarted")
    governs(run, hosts)


VERY_LONG = ("--set", "train.epochs=20")

CASES = [
    Case("coordinator", by_hand(dies, *LONG), LONG),
    Case("coordinator-twice", by_hand(dies_twice, *LONG, *VERY_LONG), (*LONG, *VERY_LONG)),
    Case("coordinator-and-replica", by_hand(dies_with_a_replica, *LONG), LONG),
    Case("coordinator-before-view-1", dies_before_the_first_view),
    Case("coordinator-freezes", by_hand(freezes, *LONG), LONG),
    Case("coordinator-old-journal", returns_with_an_older_journal, LONG),
    Case("two-coordinators", two_on_one_folder, LONG),
    Case("all-freeze", by_hand(all_freeze, *LONG), LONG),
    Case("coordinator-link-2s", between_hosts(link_down(2)), LONG),
    Case("coordinator-link-8s", between_hosts(link_down(8), *VERY_LONG), (*LONG, *VERY_LONG)),
    Case("coordinator-power", between_hosts(loses_power, *VERY_LONG), (*LONG, *VERY_LONG)),
]
