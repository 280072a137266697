# Reads new rows with a server-side cursor of psycopg2, one id a line, until it has come to the id in the file `end`.
#   poll.py DIRECTORY-OF-THE-SOCKET DATABASE OUT END
import os
import sys
import time

import psycopg2

directory, database, out_name, end_name = sys.argv[1:]
last = 0
connection = None


def end():
    if os.path.exists(end_name):
        with open(end_name) as text:
            return int(text.read())
    return None


with open(out_name, "w") as out:
    while end() is None or last < end():
        try:
            if connection is None:
                connection = psycopg2.connect(host=directory, dbname=database, user="postgres")
            rows = []
            with connection, connection.cursor("poll") as cursor:
                cursor.itersize = 100
                cursor.execute("SELECT id FROM rows WHERE id > %s AND id < flake_settled() ORDER BY id LIMIT 5000", (last,))
                rows = [row[0] for row in cursor]
            for row in rows:
                out.write(f"{row}\n")
                last = int(row)
            out.flush()
            if not rows:
                time.sleep(0.01)
        except psycopg2.Error as error:
            if connection is not None and connection.closed:
                connection = None
            if error.pgcode is not None and not error.pgcode.startswith(("55", "57")):
                raise
            time.sleep(0.02)
