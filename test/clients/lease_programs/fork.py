"""A process, and a child that it forks once it has ids: each makes ids on a lease of its own."""

import os
import sys

from flake_lease import FlakeIds

ids = FlakeIds(holder="fork", layout="tsid")
ids.next()
child = os.fork()
with open(f"fork.{'child' if child == 0 else 'parent'}", "w") as file:
    for _ in range(1000):
        file.write(f"{ids.next()}\n")
ids.close()
sys.exit(0 if child == 0 else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
