"""Appends ids to a file, as many as each line of the input says; "ok NODE" or the error follows.
At an empty line or the end the node is given back.

    python3 ids.py FILE ['{"holder": "shop"}']
"""

import json
import sys

from flake_lease import FlakeIds

ids = FlakeIds(**json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}"))
with open(sys.argv[1], "a") as file:
    for count in sys.stdin:
        if count == "\n":
            break
        try:
            for _ in range(int(count)):
                file.write(f"{ids.next()}\n")
            said = f"ok {ids.node}"
        except RuntimeError as error:
            said = str(error)
        file.flush()
        print(said, flush=True)
ids.close()
