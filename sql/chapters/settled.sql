-- Below the settled mark nothing can still appear

CREATE FUNCTION flake_settled() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION flake_settled(layout pg_catalog.text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_settled() IS
    'every id of flakeid.layout below it that this database drew belongs to a transaction that has ended; the snapshot of the calling statement sees those that committed';
COMMENT ON FUNCTION flake_settled(pg_catalog.text) IS 'the same for the ids of that layout';

CREATE FUNCTION flakeid.unsettled(OUT pid pg_catalog.int4, OUT xid pg_catalog.xid, OUT role pg_catalog.oid,
        OUT since pg_catalog.timestamptz, OUT layout pg_catalog.text, OUT node pg_catalog.int4, OUT lowest_id flake)
    RETURNS SETOF pg_catalog.record
    AS 'MODULE_PATHNAME', 'flakeid_unsettled' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.unsettled() IS 'implementation of view flake_unsettled';

CREATE VIEW flake_unsettled AS
    SELECT u.pid, pg_catalog.current_database() AS database,
           coalesce(r.rolname, p.owner) AS usename, coalesce(u.since, p.prepared) AS since,
           u.layout, u.node, u.lowest_id, p.gid
    FROM flakeid.unsettled() AS u
         LEFT JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) u.role
         LEFT JOIN pg_catalog.pg_prepared_xacts AS p ON p.transaction OPERATOR(pg_catalog.=) u.xid;
COMMENT ON VIEW flake_unsettled IS
    'a row for each transaction of this database, layout and node that holds flake_settled() back';
COMMENT ON COLUMN flake_unsettled.pid IS 'of the session; NULL for a prepared transaction';
COMMENT ON COLUMN flake_unsettled.database IS 'the current one';
COMMENT ON COLUMN flake_unsettled.usename IS 'whose transaction it is';
COMMENT ON COLUMN flake_unsettled.since IS 'begin of the transaction; when it was prepared, after a restart';
COMMENT ON COLUMN flake_unsettled.layout IS
    'what it drew from; NULL where it drew from more than eight nodes, for all further ones';
COMMENT ON COLUMN flake_unsettled.node IS 'of that layout; NULL where the layout is';
COMMENT ON COLUMN flake_unsettled.lowest_id IS
    'no id of that layout and node that it drew lies below; NULL for further nodes, and after a restart';
COMMENT ON COLUMN flake_unsettled.gid IS 'of a prepared transaction';
GRANT SELECT ON flake_unsettled TO PUBLIC;
