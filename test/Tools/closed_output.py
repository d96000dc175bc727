"""closed_output.py [--full] COMMAND...: a command whose standard output nobody reads.

It ends by SIGPIPE, as in a pipe, quietly. With --full the output goes to a full disk: exit code
1 and one line that says so. A command "-" reads several from standard input, a line each.
"""
import os
import shlex
import signal
import subprocess
import sys


def fault(command, full):
    """What is wrong with how the command ends; empty where it is right."""
    if full:
        with open("/dev/full", "wb") as out:
            done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
        lines = [line for line in done.stderr.splitlines() if "writing failed" in line]
        name = os.path.basename(command[0])
        right = done.returncode == 1 and len(lines) == 1 and lines[0].startswith(name + ": ")
    else:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        right = done.returncode == -signal.SIGPIPE and not done.stderr
    return "" if right else f"{shlex.join(command)}: exit {done.returncode}: {done.stderr}"


command = sys.argv[1:]
full = command[0] == "--full"
if full:
    command = command[1:]
commands = [shlex.split(line) for line in sys.stdin] if command == ["-"] else [command]
if faults := [text for one in commands if (text := fault(one, full))]:
    sys.exit("\n".join(faults))
