-- Who may do what

SELECT flakeid.set_rights('flakeid_tables', ARRAY[]::pg_catalog.regprocedure[]);
GRANT SELECT ON flakeid.partitions, flakeid.conversions TO PUBLIC;
