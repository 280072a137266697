-- Below the settled mark nothing can still appear

CREATE FUNCTION flake_settled() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION flake_settled(layout pg_catalog.text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_settled() IS
    'every id of flakeid.layout below it that this database drew belongs to a transaction that has ended, and is seen if that committed';
COMMENT ON FUNCTION flake_settled(pg_catalog.text) IS 'the same for the ids of that layout';

CREATE FUNCTION flakeid.unsettled_now(OUT pid pg_catalog.int4, OUT xid pg_catalog.xid, OUT role pg_catalog.oid,
        OUT since pg_catalog.timestamptz, OUT layout pg_catalog.text, OUT node pg_catalog.int4, OUT lowest_id flake)
    RETURNS SETOF pg_catalog.record
    AS 'MODULE_PATHNAME', 'flakeid_unsettled_now' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.unsettled_now() IS 'internal: the rows of view flakeid.unsettled';

CREATE VIEW flakeid.unsettled AS
    SELECT u.pid, pg_catalog.current_database() AS database,
           coalesce(r.rolname, p.owner) AS usename, coalesce(u.since, p.prepared) AS since,
           u.layout, u.node, u.lowest_id, p.gid
    FROM flakeid.unsettled_now() AS u
         LEFT JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) u.role
         LEFT JOIN pg_catalog.pg_prepared_xacts AS p ON p.transaction OPERATOR(pg_catalog.=) u.xid;
COMMENT ON VIEW flakeid.unsettled IS
    'a row for each transaction of this database, layout and node that holds flake_settled() back';
COMMENT ON COLUMN flakeid.unsettled.pid IS 'of the session; NULL for a prepared transaction';
COMMENT ON COLUMN flakeid.unsettled.database IS 'the current one';
COMMENT ON COLUMN flakeid.unsettled.usename IS 'whose transaction it is';
COMMENT ON COLUMN flakeid.unsettled.since IS 'begin of the transaction; after a restart, when it was prepared';
COMMENT ON COLUMN flakeid.unsettled.layout IS
    'what it drew from; NULL: nodes after the first eight';
COMMENT ON COLUMN flakeid.unsettled.node IS 'of that layout';
COMMENT ON COLUMN flakeid.unsettled.lowest_id IS
    'no id that it drew there lies below; NULL for further nodes, and after a restart';
COMMENT ON COLUMN flakeid.unsettled.gid IS 'of a prepared transaction';
