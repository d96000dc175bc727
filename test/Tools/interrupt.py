"""interrupt.py SIGNAL COMMAND... -o DIR: sends the signal while the artifact is being written.

Prints how the command ended; fails where a folder, whole or partial, is left.
"""

import glob
import signal
import subprocess
import sys
import time

number = getattr(signal, sys.argv[1])
command = sys.argv[2:]
target = command[command.index("-o") + 1]
# What lit's workers ignore would be ignored by the command as well.
process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
while process.poll() is None and not glob.glob(target + ".partial-*"):
    time.sleep(0.0005)
if process.poll() is not None:
    sys.exit("the command ended before it wrote anything")
process.send_signal(number)
_, message = process.communicate(timeout=60)
print(message.strip())
code = process.returncode
print("ended by", signal.Signals(-code).name if code < 0 else code)
if left := glob.glob(target + "*"):
    sys.exit(f"left behind: {left}")
