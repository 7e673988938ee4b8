"""Cases: a loader dies, freezes, or cannot be reached."""
import os
import signal

from fault_cases.coordinator import between_hosts
from fault_cases.run import LONG, Case, launched

LOADERS = ("--set", "cluster.loaders=2")


def dies(run):
    run.first_epoch()
    os.kill(run.loader_pids[0], signal.SIGKILL)
    run.event("lost", loader=0)
    run.goes_on()


def freezes(run):
    """For good: the other loader does its work."""
    run.first_epoch()
    os.kill(run.loader_pids[1], signal.SIGSTOP)
    run.event("lost", loader=1)
    run.goes_on()


def both_die(run):
    """The replicas load for themselves."""
    run.first_epoch()
    for pid in run.loader_pids.values():
        os.kill(pid, signal.SIGKILL)
    for _ in range(2):
        run.event("lost", loader=lambda loader: loader is not None)
    run.goes_on()


def link_is_cut(run, hosts):
    """What loader 0 and replica 0, which it serves, send to each other is lost: the other loader serves both."""
    host_of = {process.pid: host for host, process in enumerate(run.joined, 2)}
    loader, replica = host_of[run.loader_pids[0]], host_of[run.pids[0]]
    hosts.drop(loader, replica)
    hosts.drop(replica, loader)
    run.event("lost", loader=0)
    run.goes_on()


CASES = [
    Case("loader-dies", launched(dies, *LONG, *LOADERS), LONG),
    Case("loader-freezes", launched(freezes, *LONG, *LOADERS), LONG),
    Case("loaders-die", launched(both_die, *LONG, *LOADERS, "--set", "cluster.on_loader_loss=\"load_here\""), LONG),
    Case("loader-link", between_hosts(link_is_cut, loaders=2), LONG),
]
