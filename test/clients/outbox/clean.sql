DELETE FROM outbox WHERE id <= (SELECT min(last_seen) FROM consumer);
