"""hosts_test.py: the hosts of hosts.py can be reached, cut and healed, and are gone afterwards."""
import os
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


def reaches(hosts, source, target):
    asked = hosts.start(source, ["python3", "-c", HELLO, hosts.address(target)], stderr=subprocess.DEVNULL)
    return asked.wait() == 0


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
        for host in (1, 2):
            echo = hosts.start(host, ["python3", "-c", ECHO], stdout=subprocess.PIPE, text=True)
            expect(f"host {host} listens", echo.stdout.readline(), "ready\n")
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
    left = [name for name in os.listdir("/run/netns") if name.startswith(f"muster{os.getpid()}")]
    expect("nothing is left", left, [])
    return 0


sys.exit(main())
