"""first_cluster_test.py MUSTER CASE: docs/guides/first-cluster.md as a newcomer follows it, and what goes wrong on the way.

guide: the commands of the page on two hosts. absent: the host of the coordinator is not there. firewall: it is, and what the
other sends is dropped. missing: one of two nodes comes. leaves: one is asked to go. names: no name server answers.
name_lost: it answers when a node joins, and no longer when its coordinator has died.
data_ports: only what goes to the ports of data of one host is. other_program: something else listens on
the port.
"""
import pathlib
import re
import subprocess
import sys
import time

from hosts import Hosts, judge

PORT = 7100
JOB = """
name = "first"
[model]
name = "linear"
inputs = 8
outputs = 3
[data]
source = "synthetic"
samples = 1237
inputs = 8
outputs = 3
[train]
shards = 4
batch = 16
epochs = 3
[cluster]
replicas = 2
"""
SOON_S = 2.5  # of 2 s, within which a node says what it looks for; the rest is the start of a process


class Program:
    """One command of the page on a host; what it prints is in `log`."""

    def __init__(self, hosts, host, folder, name, *words, prefix=()):
        self.log = folder / f"{name}.log"
        self._file = self.log.open("w")
        print(f"host {host}$ muster {' '.join(map(str, words))}", flush=True)
        self.process = hosts.start(host, [*prefix, sys.argv[1], *words], stdin=subprocess.DEVNULL, stdout=self._file,
                                   stderr=subprocess.STDOUT, cwd=folder)
        self.began = time.monotonic()

    def says(self, text, within_s):
        while time.monotonic() < self.began + within_s:
            if text in self.log.read_text():
                return time.monotonic() - self.began
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        shown = self.log.read_text()
        assert text in shown, f"'{text}' was not said within {within_s} s: {shown}"
        return time.monotonic() - self.began

    def ends_with(self, code, within_s=60):
        found = self.process.wait(timeout=within_s)
        print("   " + self.log.read_text().rstrip().replace("\n", "\n   "), flush=True)
        assert found == code, f"exit code {found} instead of {code}"


def weights(log):
    return re.search(r"weights_sha256 ([0-9a-f]{64})", log.read_text()).group(1)


def guide(hosts, folder):
    address = f"{hosts.address(1)}:{PORT}"
    # A node may be there first: it says what it waits for.
    second = Program(hosts, 2, folder, "join-on-2", "join", "--coordinator", address)
    second.says(f"looks for the coordinator at {address} for up to 60 s: nothing listens there yet", SOON_S)
    coordinator = Program(hosts, 1, folder, "coordinate", "coordinate", "job.toml", "--listen", address, "--insecure")
    coordinator.says(f"on each machine:  muster join --coordinator {address}", 10)
    coordinator.says("waits for 2 replicas; fails if none comes for 10 min (10 times cluster.start_patience)", 10)
    second.says("waits for the run to begin: 1 of 2 replicas is here", 20)
    coordinator.says(f" ({hosts.address(2)}) has come: 1 of 2", 20)
    first = Program(hosts, 1, folder, "join-on-1", "join", "--coordinator", address)
    coordinator.says(f" ({hosts.address(1)}) has come: 2 of 2", 20)
    for program in (coordinator, first, second):
        program.ends_with(0)
    alone = Program(hosts, 1, folder, "alone", "run", "job.toml", "--replicas", "1")
    alone.ends_with(0)
    assert weights(alone.log) == weights(coordinator.log), "other weights on one replica than on two hosts"


def absent(hosts, folder):
    address = f"{hosts.address(9)}:{PORT}"
    node = Program(hosts, 2, folder, "join", "join", "--coordinator", address, "--patience", "3")
    node.says(f"looks for the coordinator at {address} for up to 3 s: no answer (", SOON_S)
    node.ends_with(1, 10)
    assert "firewalls on the way" in node.log.read_text(), "the fix is not said"


def firewall(hosts, folder):
    address = f"{hosts.address(1)}:{PORT}"
    hosts.drop(2, 1)
    coordinator = Program(hosts, 1, folder, "coordinate", "coordinate", "job.toml", "--listen", address, "--insecure")
    coordinator.says("on each machine:", 10)
    node = Program(hosts, 2, folder, "join", "join", "--coordinator", address, "--patience", "3")
    node.says("no answer (", SOON_S)
    node.ends_with(1, 10)


def data_ports(hosts, folder):
    """One host's ports of data are shut: said with both ends before training; opened, the run begins."""
    address = f"{hosts.address(1)}:{PORT}"
    job = folder / "job.toml"
    job.write_text(JOB.replace("[cluster]", '[cluster]\ndata_ports = "7200-7209"'))
    hosts.drop_port(2, "7200-7209")
    coordinator = Program(hosts, 1, folder, "coordinate", "coordinate", "job.toml", "--listen", address, "--insecure")
    coordinator.says("on each machine:", 10)
    first = Program(hosts, 1, folder, "join-on-1", "join", "--coordinator", address)
    coordinator.says(f" ({hosts.address(1)}) has come: 1 of 2", 20)
    second = Program(hosts, 2, folder, "join-on-2", "join", "--coordinator", address)
    coordinator.says(f" does not reach {hosts.address(2)}:720", 30)
    coordinator.says("no answer within 3000 ms. Let what runs between the two hosts through", 30)
    second.says("cluster.data_ports (7200-7209)", 10)
    assert "lost:" not in coordinator.log.read_text(), "one that is not to blame was lost"
    hosts.heal()
    for program in (coordinator, first, second):
        program.ends_with(0)


def other_program(hosts, folder):
    address = f"{hosts.address(1)}:{PORT}"
    listener = "import socket, time\nserver = socket.create_server(('', 7100))\nprint('ready', flush=True)\n" \
               "while True:\n    server.accept()[0].close()\n"
    other = hosts.start(1, ["python3", "-c", listener], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "ready\n"
    node = Program(hosts, 2, folder, "join", "join", "--coordinator", address, "--patience", "3")
    node.says("something listens there, and does not answer as a coordinator of this version does", SOON_S)
    node.ends_with(1, 10)
    assert "muster --version" in node.log.read_text(), "the fix is not said"


def missing(hosts, folder):
    """One of two comes: the run ends, and names that one with its host."""
    address = f"{hosts.address(1)}:{PORT}"
    coordinator = Program(hosts, 1, folder, "coordinate", "coordinate", "job.toml", "--listen", address, "--insecure",
                          "--set", "cluster.start_patience=1s")
    coordinator.says("on each machine:", 10)
    second = Program(hosts, 2, folder, "join-on-2", "join", "--coordinator", address)
    coordinator.ends_with(1)
    second.ends_with(1)
    said = coordinator.log.read_text()
    assert "Missing: 1 replica; here: replica 0 on " in said and f" ({hosts.address(2)})" in said, "who is here is not said"


def leaves(hosts, folder):
    """SIGTERM to a node: the coordinator says which one left."""
    address = f"{hosts.address(1)}:{PORT}"
    job = folder / "job.toml"
    job.write_text(JOB.replace("epochs = 3", "epochs = 100000"))
    coordinator = Program(hosts, 1, folder, "coordinate", "coordinate", "job.toml", "--listen", address, "--insecure")
    coordinator.says("on each machine:", 10)
    first = Program(hosts, 1, folder, "join-on-1", "join", "--coordinator", address)
    coordinator.says(": 1 of 2", 20)
    second = Program(hosts, 2, folder, "join-on-2", "join", "--coordinator", address)
    coordinator.says("epoch 2", 40)
    second.process.terminate()
    coordinator.says("left: replica ", 60)
    coordinator.says(f" ({hosts.address(2)})\n", 60)
    second.ends_with(0)
    coordinator.process.terminate()
    coordinator.ends_with(143)
    said = coordinator.log.read_text()
    assert "ready" not in said[said.index("interrupted"):], "a run that ends calls replicas ready"
    first.ends_with(0)


def without_name_server(hosts, folder, known=""):
    """What a command is started with, so that its name server is not there; `known`: its /etc/hosts, which it returns too."""
    servers, names = folder / "resolv.conf", folder / "hosts"
    servers.write_text(f"nameserver {hosts.address(9)}\n")
    names.write_text(known)
    mounts = f"mount --bind {servers} /etc/resolv.conf && mount --bind {names} /etc/hosts"
    return ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$0" "$@"'], names


def names(hosts, folder):
    """The name server is not there: said within 2 s, and given up in time."""
    within, _ = without_name_server(hosts, folder)
    for name, words in {"join": ("join", "--patience", "4", "--coordinator", "host.example:7100"),
                        "status": ("status", "host.example:7100"), "stop": ("stop", "host.example:7100"),
                        "coordinate": ("coordinate", "job.toml", "--insecure", "--listen", "host.example:7100")}.items():
        node = Program(hosts, 2, folder, name, *words, prefix=within)
        node.says("looks up the host name host.example for up to ", SOON_S)
        node.ends_with(2 if name == "coordinate" else 1, 8)
        assert "no name server answered within" in node.log.read_text(), "why it ends is not said"


def name_lost(hosts, folder):
    """A node whose coordinator died looks for it by a name that nobody answers for: it ends when it is told to."""
    within, known = without_name_server(hosts, folder, f"{hosts.address(1)} host.example\n")
    job = folder / "job.toml"
    job.write_text(JOB.replace("epochs = 3", "epochs = 100000").replace("replicas = 2", "replicas = 1"))
    coordinator = Program(hosts, 1, folder, "coordinate", "coordinate", "job.toml", "--listen", f"{hosts.address(1)}:{PORT}",
                          "--insecure")
    coordinator.says("on each machine:", 10)
    node = Program(hosts, 2, folder, "join", "join", "--coordinator", f"host.example:{PORT}", prefix=within)
    coordinator.says("epoch 2", 40)
    known.write_text("")
    coordinator.process.kill()
    node.says("the coordinator is gone", 20)
    node.process.terminate()
    node.ends_with(0, 5)


def check(folder):
    (folder / "job.toml").write_text(JOB)
    with Hosts(2) as hosts:
        {"guide": guide, "absent": absent, "firewall": firewall, "data_ports": data_ports, "other_program": other_program, "missing": missing,
         "leaves": leaves, "names": names, "name_lost": name_lost}[sys.argv[2]](hosts, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(judge(check))
