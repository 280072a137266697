-- -------------------------------------------------------------------------------------------------
-- The rights of a table's owner
-- -------------------------------------------------------------------------------------------------

-- What the extension does in C: runs a statement with the rights of a table's owner and no others. Here only who has no others can do it:
-- code of the owner could take back the role of a session that is somebody else's.
CREATE FUNCTION flakeid_plain.as_owner(tab regclass, statement text) RETURNS text
    LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = tab);
    result text;
BEGIN
    IF owner IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('table %s does not exist', tab);
    ELSIF owner <> session_user OR owner <> current_user THEN
        RAISE insufficient_privilege USING MESSAGE = format('table %s is for a session of its owner, role %I', tab, owner),
            DETAIL = 'Code of the owner of the table may run, which would have all rights of this session.';
    END IF;
    SET CONSTRAINTS ALL IMMEDIATE;
    EXECUTE statement INTO result;
    RETURN result;
END
$$;
COMMENT ON FUNCTION flakeid_plain.as_owner(regclass, text) IS 'internal: runs a statement, in a session of the owner of a table; returns the first column of its first row';

-- What the extension asks the whole server: here other databases, and conversions that begin at the same moment, are not seen.
CREATE FUNCTION flakeid_plain.old_row_node(tab regclass, wanted int4, besides int4[], take bool) RETURNS int4
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    highest int4 := (flakeid_plain.convert_layout()).nodes - 1;
    candidate int4 := coalesce(wanted, highest);
BEGIN
    WHILE candidate >= 0 AND (candidate = ANY (besides) OR flakeid_plain.convert_has_node(candidate)) LOOP
        candidate := CASE WHEN wanted IS NULL THEN candidate ELSE 0 END - 1;
    END LOOP;
    RETURN CASE WHEN candidate BETWEEN 0 AND highest THEN candidate END;
END
$$;
COMMENT ON FUNCTION flakeid_plain.old_row_node(regclass, int4, int4[], bool) IS 'internal: a node for ids of old rows; null: none is left';

CREATE FUNCTION flakeid_plain.release_old_row_node(tab regclass, node int4) RETURNS void
    LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- What a table has stands in its own comments.
END
$$;
COMMENT ON FUNCTION flakeid_plain.release_old_row_node(regclass, int4) IS 'internal: nothing is kept of a node that a table took';
