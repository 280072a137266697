CREATE FUNCTION orders_now() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT flake_floor(now())::bigint';
