"""Runs a command whose standard output nobody reads: it ends with exit 1 and says so."""
import os
import subprocess
import sys

reader, writer = os.pipe()
os.close(reader)
done = subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, text=True)
if done.returncode != 1 or "standard output" not in done.stderr:
    sys.exit(f"exit {done.returncode}: {done.stderr}")
