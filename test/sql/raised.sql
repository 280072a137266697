-- What a statement raises: sqlstate, message, detail and hint.
CREATE FUNCTION pg_temp.raised(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN state || ': ' || message || CASE WHEN detail <> '' THEN E'\n  detail: ' || detail ELSE '' END
        || CASE WHEN hint <> '' THEN E'\n  hint: ' || hint ELSE '' END;
END $$;
