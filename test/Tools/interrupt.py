"""interrupt.py SIGNAL COMMAND...: sends the signal while the command is at work.

With `-o DIR` that is while the artifact is being written: fails where a folder, whole or partial,
is left. Else it is behind the first byte of standard output, and again where the command was
faster. Prints how the command ended.
"""

import glob
import signal
import subprocess
import sys
import time

number = getattr(signal, sys.argv[1])
command = sys.argv[2:]
target = command[command.index("-o") + 1] if "-o" in command else None


def interrupt():
    """The exit code and what was said."""
    # What lit's workers ignore would be ignored by the command as well.
    process = subprocess.Popen(command, stdout=None if target else subprocess.PIPE,
                               stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    if target:
        while process.poll() is None and not glob.glob(target + ".partial-*"):
            time.sleep(0.0005)
        if process.poll() is not None:
            sys.exit("the command ended before it wrote anything")
    elif not process.stdout.read(1):
        sys.exit(f"the command printed nothing: {process.communicate()[1].decode()}")
    process.send_signal(number)
    message = process.communicate(timeout=60)[1].decode(errors="replace").strip()
    return process.returncode, message


for attempt in range(8):
    code, message = interrupt()
    if target or code or "cancelled" in message:
        break
print(message)
print("ended by", signal.Signals(-code).name if code < 0 else code)
if left := glob.glob(target + "*") if target else []:
    sys.exit(f"left behind: {left}")
