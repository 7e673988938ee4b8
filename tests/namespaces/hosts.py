"""Hosts on one machine: network namespaces behind one switch, whose cables and filters a test may touch.

Their names hold this process's id; they are removed at the end, by a helper process if this one is killed. Needs root, `ip` and
`nft`; links of a given speed also `tc` and the kernel's token bucket filter.
"""
import json
import os
import shutil
import signal
import pathlib
import subprocess
import tempfile

NETWORK = "10.77.0"
# What goes before a command so that it is process 1 of a pid namespace, and ends when this process is killed.
OWN_PIDS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def judge(check, shaped=False, own_pids=False, hosts=True):
    """The exit code of a test: `check(folder)`, whose AssertionError says what does not hold. Then the logs in the folder are shown.

    `shaped`: it needs links of a given speed. `own_pids`: it needs pid namespaces. `hosts`: it needs network namespaces."""
    reason = (cannot_run(shaped) if hosts else None) or (cannot_have_own_pids() if own_pids else None)
    if reason:
        print(f"cannot run: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            check(folder)
        except AssertionError as error:
            for log in sorted(folder.glob("*.log")):
                print(f"---- {log.name}\n{log.read_text()}", end="")
            print(f"failed: {error}")
            return 1
    return 0


def cannot_run(shaped=False):
    """Why hosts cannot be made here, or not with links of a given speed; None if they can."""
    missing = [name for name in ("ip", "nft", "nsenter", *(["tc"] if shaped else [])) if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} missing: install iproute2, nftables and util-linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"muster{os.getpid()}probe"
    made = subprocess.run(["ip", "netns", "add", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode != 0:
        return f"no network namespace can be made: {made.stdout.strip()}"
    try:
        filtered = subprocess.run(["nsenter", f"--net=/run/netns/{name}", "nft", "add", "table", "inet", "probe"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if filtered.returncode != 0:
            return f"no filter can be set: {filtered.stdout.strip()}"
        if not shaped:
            return None
        limited = subprocess.run(["nsenter", f"--net=/run/netns/{name}", "tc", "qdisc", "add", "dev", "lo", "root", *_bucket(100)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return None if limited.returncode == 0 else f"no speed can be set: {limited.stdout.strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def cannot_have_own_pids():
    """Why no pid namespace can be made here; None if one can."""
    if shutil.which("unshare") is None:
        return "unshare missing: install util-linux"
    made = subprocess.run([*OWN_PIDS, "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if made.returncode == 0 else f"no pid namespace can be made: {made.stdout.strip()}"


# What waits for longer than half a second is dropped, as by a switch with a large buffer.
def _bucket(megabits):
    return ("tbf", "rate", f"{megabits}mbit", "burst", "64kb", "latency", "500ms")


def _command(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(done.args)}: {done.stdout.strip()}")
    return done.stdout


# Waits for the end of its standard input, that is of the process that holds the other end; then removes what is left.
_REMOVER = """
import os, subprocess, sys
sys.stdin.read()
for name in sys.argv[1:]:
    if not os.path.exists("/run/netns/" + name):
        continue
    found = subprocess.run(["ip", "netns", "pids", name], stdout=subprocess.PIPE, text=True).stdout.split()
    for pid in found:
        try:
            os.kill(int(pid), 9)
        except ProcessLookupError:
            pass
    subprocess.run(["ip", "netns", "del", name])
"""


def kill_all(processes):
    """Those that have not ended yet. Returns when none is left."""
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


class Hosts:
    """Hosts 1 to `count`, with addresses 10.77.0.1 and so on. A context manager."""

    def __init__(self, count):
        self.count = count
        self._switch = f"muster{os.getpid()}sw"
        self._names = [f"muster{os.getpid()}h{host}" for host in range(1, count + 1)]
        self._processes = []

    def __enter__(self):
        everything = [*self._names, self._switch]
        self._remover = subprocess.Popen(["python3", "-c", _REMOVER, *everything], stdin=subprocess.PIPE,
                                         start_new_session=True)
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        kill_all(self._processes)
        self._remover.stdin.close()
        self._remover.wait()

    def _make(self):
        _command("ip", "netns", "add", self._switch)
        for bridge in ("one", "two"):
            _command("ip", "-n", self._switch, "link", "add", bridge, "type", "bridge")
            _command("ip", "-n", self._switch, "link", "set", bridge, "up")
        for host in range(1, self.count + 1):
            self.power_on(host)

    def power_on(self, host):
        """A host as it is when it has started: nothing runs on it."""
        name = self._name(host)
        _command("ip", "netns", "add", name)
        # A network adapter keeps its address when its host is started again; others remember it.
        _command("ip", "link", "add", "eth0", "address", f"02:00:0a:4d:00:{host:02x}", "netns", name, "type", "veth", "peer", "name",
                 f"port{host}", "netns", self._switch)
        _command("ip", "-n", self._switch, "link", "set", f"port{host}", "master", "one", "up")
        _command("ip", "-n", name, "link", "set", "lo", "up")
        _command("ip", "-n", name, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        _command("ip", "-n", name, "link", "set", "eth0", "up")
        self._on(host, "nft", "add", "table", "inet", "muster")
        self._on(host, "nft", "add", "chain", "inet", "muster", "in", "{ type filter hook input priority 0 ; }")

    def power_off(self, host):
        """The host is gone with its processes and its connections; no FIN and no RST gets out. Only power_on undoes it."""
        _command("ip", "-n", self._switch, "link", "del", f"port{host}")
        for pid in _command("ip", "netns", "pids", self._name(host)).split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        _command("ip", "netns", "del", self._name(host))

    def _name(self, host):
        return self._names[host - 1]

    def _on(self, host, *words):
        _command(*self.prefix(host), *words)

    @staticmethod
    def address(host):
        return f"{NETWORK}.{host}"

    def prefix(self, host):
        """What goes before a command so that it runs on that host, under the same process id."""
        return ("nsenter", f"--net=/run/netns/{self._name(host)}")

    def start(self, host, command, **more):
        """A process on that host; killed at the latest when the hosts are removed."""
        process = subprocess.Popen([*self.prefix(host), *[str(word) for word in command]], **more)
        self._processes.append(process)
        return process

    def limit(self, megabits):
        """From now on each host's cable carries so many Mbit/s, in each direction, in frames of at most 1,514 bytes."""
        for host in range(1, self.count + 1):
            for namespace, interface in ((self._name(host), "eth0"), (self._switch, f"port{host}")):
                _command("ip", "-n", namespace, "link", "set", interface, "gso_max_segs", 1)
                _command("nsenter", f"--net=/run/netns/{namespace}", "tc", "qdisc", "replace", "dev", interface, "root",
                         *_bucket(megabits))

    def sent_bytes(self, host, interface="eth0"):
        """What an interface of the host has sent so far: whole frames, with all headers."""
        return self._counted(host, interface, "tx")

    def received_bytes(self, host, interface="eth0"):
        """As sent_bytes, of what has come."""
        return self._counted(host, interface, "rx")

    def _counted(self, host, interface, way):
        shown = _command("ip", "-n", self._name(host), "-s", "-j", "link", "show", interface)
        return json.loads(shown)[0]["stats64"][way]["bytes"]

    # What can be done to the network. All of it is undone by heal().

    def unplug(self, host):
        """The host's cable: nothing comes, nothing goes."""
        _command("ip", "-n", self._switch, "link", "set", f"port{host}", "down")

    def drop(self, source, target):
        """What `source` sends to `target` is lost; the other direction works."""
        self._on(target, "nft", "add", "rule", "inet", "muster", "in", "ip", "saddr", self.address(source), "drop")

    def drop_port(self, target, ports):
        """What comes to these TCP ports of `target` ("7200-7209") is lost, as by a firewall."""
        self._on(target, "nft", "add", "rule", "inet", "muster", "in", "tcp", "dport", ports, "drop")

    def part(self, hosts):
        """These hosts see each other, but none of the others."""
        for host in hosts:
            _command("ip", "-n", self._switch, "link", "set", f"port{host}", "master", "two")

    def heal(self):
        for host in range(1, self.count + 1):
            _command("ip", "-n", self._switch, "link", "set", f"port{host}", "master", "one", "up")
            self._on(host, "nft", "flush", "chain", "inet", "muster", "in")
