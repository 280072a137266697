CREATE EXTENSION pg_cron;
CREATE EXTENSION flakeid_tables CASCADE;
CREATE TABLE event (id flake DEFAULT flake_next(), what text) PARTITION BY RANGE (id);

CALL flakeid.partition('event', every => '1 day', ahead => 2);
SELECT cron.schedule('partitions', '17 3 * * *', 'CALL flakeid.maintain()');
