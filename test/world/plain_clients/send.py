# Sends each file as one string, as SQL editors and migrations do.
import sys

import psycopg2

connection = psycopg2.connect('')
for file in sys.argv[1:]:
    with open(file) as script, connection.cursor() as cursor:
        cursor.execute(script.read())
connection.close()
