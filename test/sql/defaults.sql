-- In this database the settings are flakeid's defaults, whatever they are on the server.
LOAD 'flakeid';
SELECT format('ALTER DATABASE %I SET %s = %L', current_database(), name, boot_val)
FROM pg_settings WHERE name LIKE 'flakeid.%' AND context = 'superuser' AND setting <> boot_val \gexec
\c -
