CREATE EXTENSION pg_cron;
CREATE EXTENSION flakeid;
CREATE TABLE event (id flake DEFAULT flake_next(), what text) PARTITION BY RANGE (id);

-- The partition of a day, by its ids
CREATE PROCEDURE add_event_day(day date) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF event FOR VALUES FROM (%s) TO (%s)',
                   'event_' || to_char(day, 'YYYYMMDD'),
                   flake_floor(day::timestamp AT TIME ZONE 'UTC', 'snowflake'),
                   flake_floor((day + 1)::timestamp AT TIME ZONE 'UTC', 'snowflake'));
END
$$;

CALL add_event_day((now() AT TIME ZONE 'UTC')::date);
SELECT cron.schedule('event days', '0 12 * * *', $$CALL add_event_day((now() AT TIME ZONE 'UTC')::date + 1)$$);
