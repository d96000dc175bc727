"""Runs a command whose standard output nobody reads: it ends by SIGPIPE, as in a pipe, quietly."""
import os
import signal
import subprocess
import sys

reader, writer = os.pipe()
os.close(reader)
done = subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, text=True)
if done.returncode != -signal.SIGPIPE or done.stderr:
    sys.exit(f"exit {done.returncode}: {done.stderr}")
