-- Makes a file with a secret, as an administrator does, and returns its path. Files of the same
-- secret have the same name; remove_secret_files() removes those of this session.
CREATE TEMP TABLE secret_files (path text);
CREATE FUNCTION pg_temp.secret_file(secret text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    file text = current_setting('data_directory') || '/regress_flakeid_' || md5(secret);
BEGIN
    EXECUTE format('COPY (SELECT string_to_table(%L, E''\n'')) TO PROGRAM %L', secret, format('umask 077; cat > "%s"', file));
    INSERT INTO secret_files VALUES (file);
    RETURN file;
END $$;
CREATE FUNCTION pg_temp.remove_secret_files() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    file text;
BEGIN
    FOR file IN DELETE FROM secret_files RETURNING path LOOP
        EXECUTE format('COPY (SELECT) TO PROGRAM %L', format('cat >/dev/null; rm -f "%s"', file));
    END LOOP;
END $$;
