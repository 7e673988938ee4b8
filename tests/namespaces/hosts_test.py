"""hosts_test.py: the hosts of hosts.py can be reached, cut and healed, and are gone afterwards."""
import os
import signal
import subprocess
import sys

from hosts import Hosts, cannot_run

HELLO = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000), timeout=1) as connection:
    connection.settimeout(1)
    connection.sendall(b"hello")
    sys.exit(0 if connection.recv(5) == b"hello" else 1)
"""
ECHO = """
import socket
listener = socket.create_server(("", 7000), backlog=8)
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    connection.settimeout(3)
    try:
        connection.sendall(connection.recv(5))
    except OSError:
        pass
    connection.close()
"""

# Says "silence" if the other side ends the connection neither in order nor with a reset within 2 s.
KEEP = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 7000), timeout=1)
print("connected", flush=True)
connection.settimeout(2)
try:
    print("ended" if connection.recv(5) == b"" else "data", flush=True)
except TimeoutError:
    print("silence", flush=True)
except OSError as error:
    print(error, flush=True)
sys.stdin.read()
"""


def reaches(hosts, source, target):
    asked = hosts.start(source, ["python3", "-c", HELLO, hosts.address(target)], stderr=subprocess.DEVNULL)
    return asked.wait() == 0


def listening(hosts, host):
    echo = hosts.start(host, ["python3", "-c", ECHO], stdout=subprocess.PIPE, text=True)
    expect(f"host {host} listens", echo.stdout.readline(), "ready\n")
    return echo


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")
    print(f"ok: {what}")


def main():
    reason = cannot_run()
    if reason:
        print(f"cannot run: {reason}")
        return 77
    with Hosts(3) as hosts:
        echoes = [listening(hosts, host) for host in (1, 2)]
        expect("3 reaches 1", reaches(hosts, 3, 1), True)
        hosts.unplug(3)
        expect("3 does not reach 1 without its cable", reaches(hosts, 3, 1), False)
        hosts.heal()
        expect("3 reaches 1 again", reaches(hosts, 3, 1), True)
        hosts.drop(3, 1)
        expect("3 does not reach 1 when its packets are lost", reaches(hosts, 3, 1), False)
        expect("3 reaches 2 meanwhile", reaches(hosts, 3, 2), True)
        expect("2 reaches 1 meanwhile", reaches(hosts, 2, 1), True)
        hosts.heal()
        hosts.part([2, 3])
        expect("3 does not reach 1 across the cut", reaches(hosts, 3, 1), False)
        expect("3 reaches 2 on its own side", reaches(hosts, 3, 2), True)
        hosts.heal()
        expect("3 reaches 1 after all", reaches(hosts, 3, 1), True)
        echo = echoes[0]
        kept = hosts.start(2, ["python3", "-c", KEEP, hosts.address(1)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        expect("2 is connected with 1", kept.stdout.readline(), "connected\n")
        hosts.power_off(1)
        expect("what ran on 1 is gone", echo.wait(), -signal.SIGKILL)
        expect("3 does not reach 1 without power", reaches(hosts, 3, 1), False)
        expect("2 is told nothing by 1", kept.stdout.readline(), "silence\n")
        hosts.power_on(1)
        listening(hosts, 1)
        expect("3 reaches 1 when it is back", reaches(hosts, 3, 1), True)
    left = [name for name in os.listdir("/run/netns") if name.startswith(f"muster{os.getpid()}")]
    expect("nothing is left", left, [])
    return 0


sys.exit(main())
