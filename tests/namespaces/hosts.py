"""Hosts on one machine: network namespaces behind one switch, whose cables and filters a test may touch.

Their names hold this process's id; they are removed at the end, by a helper process if this one is killed. Needs root, `ip` and
`nft`.
"""
import os
import shutil
import signal
import subprocess
import tempfile

NETWORK = "10.77.0"


def cannot_run():
    """Why hosts cannot be made here; None if they can."""
    missing = [name for name in ("ip", "nft", "nsenter") if shutil.which(name) is None]
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
        return None if filtered.returncode == 0 else f"no filter can be set: {filtered.stdout.strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def _command(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(done.args)}: {done.stdout.strip()}")


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
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        self._remover.stdin.close()
        self._remover.wait()

    def _make(self):
        _command("ip", "netns", "add", self._switch)
        for bridge in ("one", "two"):
            _command("ip", "-n", self._switch, "link", "add", bridge, "type", "bridge")
            _command("ip", "-n", self._switch, "link", "set", bridge, "up")
        for host in range(1, self.count + 1):
            name = self._name(host)
            _command("ip", "netns", "add", name)
            _command("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"port{host}", "netns",
                     self._switch)
            _command("ip", "-n", self._switch, "link", "set", f"port{host}", "master", "one", "up")
            _command("ip", "-n", name, "link", "set", "lo", "up")
            _command("ip", "-n", name, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            _command("ip", "-n", name, "link", "set", "eth0", "up")
            self._on(host, "nft", "add", "table", "inet", "muster")
            self._on(host, "nft", "add", "chain", "inet", "muster", "in", "{ type filter hook input priority 0 ; }")

    def _name(self, host):
        return self._names[host - 1]

    def _on(self, host, *words):
        _command("nsenter", f"--net=/run/netns/{self._name(host)}", *words)

    @staticmethod
    def address(host):
        return f"{NETWORK}.{host}"

    def start(self, host, command, **more):
        """A process on that host; killed at the latest when the hosts are removed."""
        process = subprocess.Popen(["nsenter", f"--net=/run/netns/{self._name(host)}", *[str(word) for word in command]], **more)
        self._processes.append(process)
        return process

    # What can be done to the network. All of it is undone by heal().

    def unplug(self, host):
        """The host's cable: nothing comes, nothing goes."""
        _command("ip", "-n", self._switch, "link", "set", f"port{host}", "down")

    def drop(self, source, target):
        """What `source` sends to `target` is lost; the other direction works."""
        self._on(target, "nft", "add", "rule", "inet", "muster", "in", "ip", "saddr", self.address(source), "drop")

    def part(self, hosts):
        """These hosts see each other, but none of the others."""
        for host in hosts:
            _command("ip", "-n", self._switch, "link", "set", f"port{host}", "master", "two")

    def heal(self):
        for host in range(1, self.count + 1):
            _command("ip", "-n", self._switch, "link", "set", f"port{host}", "master", "one", "up")
            self._on(host, "nft", "flush", "chain", "inet", "muster", "in")
