CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), body text);
CREATE TABLE consumer (name text PRIMARY KEY, last_seen flake NOT NULL DEFAULT 0);

CREATE FUNCTION outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('outbox', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER notify AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION outbox_notify();
