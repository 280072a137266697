-- Readers of ids of the layout randflake, for servers where flakeid cannot be installed:
--   time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

-- The 16-byte key as what SPARX-64/128 adds in each of its rounds.
CREATE FUNCTION randflake_round_keys(key bytea) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    k integer[];
    round_keys integer[] := '{}';
BEGIN
    IF octet_length(key) <> 16 THEN
        RAISE EXCEPTION 'a key has 16 bytes, not %', octet_length(key) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR i IN 0..7 LOOP
        k[i] := (get_byte(key, 2 * i) << 8) | get_byte(key, 2 * i + 1);
    END LOOP;
    FOR c IN 0..16 LOOP
        round_keys := round_keys || k[0:5];
        k[0] := (((k[0] << 9) | (k[0] >> 7)) + k[1]) & 65535;
        k[1] := (((k[1] << 2) | (k[1] >> 14)) & 65535) # k[0];
        k[2] := (k[2] + k[0]) & 65535;
        k[3] := (k[3] + k[1]) & 65535;
        k[7] := (k[7] + c + 1) & 65535;
        k[0:7] := k[6:7] || k[0:5];
    END LOOP;
    RETURN round_keys;
END
$$;
COMMENT ON FUNCTION randflake_round_keys(bytea) IS 'a 16-byte key, as randflake_raw() takes it';

CREATE FUNCTION randflake_raw(id bigint, round_keys integer[]) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    a integer; b integer; c integer; d integer;
    sum integer;
    k integer;
BEGIN
    -- Four words of two bytes, the lower byte of the number in the high half.
    a := ((id << 8 & 65280) | (id >> 8 & 255))::integer # round_keys[97];
    b := ((id >> 8 & 65280) | (id >> 24 & 255))::integer # round_keys[98];
    c := ((id >> 24 & 65280) | (id >> 40 & 255))::integer # round_keys[99];
    d := ((id >> 40 & 65280) | (id >> 56 & 255))::integer # round_keys[100];
    FOR step IN REVERSE 7..0 LOOP
        sum := c # d;
        sum := ((sum << 8) | (sum >> 8)) & 65535;
        a := a # c # sum;
        b := b # d # sum;
        FOR round IN REVERSE 2..0 LOOP
            k := 12 * step + 2 * round + 1;
            sum := c # d;
            sum := ((sum << 14) | (sum >> 2)) & 65535;
            c := (c - sum) & 65535;
            c := (((c << 7) | (c >> 9)) & 65535) # round_keys[k];
            d := sum # round_keys[k + 1];
            sum := a # b;
            sum := ((sum << 14) | (sum >> 2)) & 65535;
            a := (a - sum) & 65535;
            a := (((a << 7) | (a >> 9)) & 65535) # round_keys[k + 6];
            b := sum # round_keys[k + 7];
        END LOOP;
        sum := a; a := c; c := sum;
        sum := b; b := d; d := sum;
    END LOOP;
    RETURN ((a >> 8) | ((a & 255) << 8))::bigint | (((b >> 8) | ((b & 255) << 8))::bigint << 16)
         | (((c >> 8) | ((c & 255) << 8))::bigint << 32) | (((d >> 8) | ((d & 255) << 8))::bigint << 48);
END
$$;
COMMENT ON FUNCTION randflake_raw(bigint, integer[]) IS 'an id of layout randflake, deciphered';

CREATE FUNCTION randflake_timestamp(id bigint, key bytea) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (timestamp '2024-10-27 03:33:20' + (randflake_raw(id, randflake_round_keys(key)) >> 34 & 1073741823) * interval '1000000 microseconds') AT TIME ZONE 'UTC'
$$;
COMMENT ON FUNCTION randflake_timestamp(bigint, bytea) IS 'when an id of layout randflake was made';

CREATE FUNCTION randflake_node(id bigint, key bytea) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (randflake_raw(id, randflake_round_keys(key)) >> 17 & 131071)::integer
$$;
COMMENT ON FUNCTION randflake_node(bigint, bytea) IS 'node that made an id of layout randflake';

CREATE FUNCTION randflake_sequence(id bigint, key bytea) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (randflake_raw(id, randflake_round_keys(key)) & 131071)::integer
$$;
COMMENT ON FUNCTION randflake_sequence(bigint, bytea) IS 'counter of an id of layout randflake within its tick';
