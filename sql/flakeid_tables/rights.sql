-- Who may do what

SELECT flakeid.set_rights('flakeid_tables', ARRAY['flakeid.partition_forget()']::pg_catalog.regprocedure[]);
GRANT SELECT ON flakeid.partitions, flakeid.conversions TO PUBLIC;
-- Owners of tables declare and log them there; triggers ask whether they are (partition.sql).
GRANT SELECT, INSERT ON flakeid.partitioned, flakeid.partition_log TO PUBLIC;

-- Of the chapter partition, which the edition in plain SQL has without an extension.
SELECT pg_catalog.pg_extension_config_dump('flakeid.partitioned',
    'WHERE parent IN (SELECT c.oid FROM pg_catalog.pg_class AS c WHERE c.relkind = ''p'')');
