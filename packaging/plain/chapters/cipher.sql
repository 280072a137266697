-- -------------------------------------------------------------------------------------------------
-- The cipher: SPARX-64/128, as the Randflake libraries use it
-- -------------------------------------------------------------------------------------------------

-- The 16-byte key as what is added in each of the rounds.
CREATE FUNCTION flakeid_plain.round_keys(key bytea) RETURNS int[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k int[];
    round_keys int[] := '{}';
BEGIN
    IF octet_length(key) <> 16 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'invalid key length',
            DETAIL = format('The key has %s bytes.', octet_length(key)),
            HINT = 'A key of SPARX-64/128 has 16 bytes, as in decode(''...'', ''hex'').';
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

-- Both directions cut the number into four words of two bytes, the lower byte of the number in the high half.
CREATE FUNCTION flakeid_plain.encipher(word bigint, round_keys int[]) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a int := (word << 8 & 65280) | (word >> 8 & 255);
    b int := (word >> 8 & 65280) | (word >> 24 & 255);
    c int := (word >> 24 & 65280) | (word >> 40 & 255);
    d int := (word >> 40 & 65280) | (word >> 56 & 255);
    sum int;
    k int := 1;
BEGIN
    FOR step IN 0..7 LOOP
        FOR round IN 0..2 LOOP
            a := a # round_keys[k];
            b := b # round_keys[k + 1];
            a := (((a << 9) | (a >> 7)) + b) & 65535;
            b := (((b << 2) | (b >> 14)) & 65535) # a;
            c := c # round_keys[k + 6];
            d := d # round_keys[k + 7];
            c := (((c << 9) | (c >> 7)) + d) & 65535;
            d := (((d << 2) | (d >> 14)) & 65535) # c;
            k := k + 2;
        END LOOP;
        k := k + 6;
        sum := a # b;
        sum := ((sum << 8) | (sum >> 8)) & 65535;
        c := c # a # sum;
        d := d # b # sum;
        sum := a; a := c; c := sum;
        sum := b; b := d; d := sum;
    END LOOP;
    a := a # round_keys[97];
    b := b # round_keys[98];
    c := c # round_keys[99];
    d := d # round_keys[100];
    RETURN ((a >> 8) | ((a & 255) << 8))::bigint | (((b >> 8) | ((b & 255) << 8))::bigint << 16)
         | (((c >> 8) | ((c & 255) << 8))::bigint << 32) | (((d >> 8) | ((d & 255) << 8))::bigint << 48);
END
$$;

CREATE FUNCTION flakeid_plain.decipher(word bigint, round_keys int[]) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a int := ((word << 8 & 65280) | (word >> 8 & 255))::int # round_keys[97];
    b int := ((word >> 8 & 65280) | (word >> 24 & 255))::int # round_keys[98];
    c int := ((word >> 24 & 65280) | (word >> 40 & 255))::int # round_keys[99];
    d int := ((word >> 40 & 65280) | (word >> 56 & 255))::int # round_keys[100];
    sum int;
    k int;
BEGIN
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

CREATE FUNCTION flakeid_plain.flake_encrypt(word bigint, key bytea) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.encipher(word, flakeid_plain.round_keys(key))
$$;
COMMENT ON FUNCTION flakeid_plain.flake_encrypt(bigint, bytea) IS 'enciphers 64 bits under a key of 16 bytes';

CREATE FUNCTION flakeid_plain.flake_decrypt(word bigint, key bytea) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.decipher(word, flakeid_plain.round_keys(key))
$$;
COMMENT ON FUNCTION flakeid_plain.flake_decrypt(bigint, bytea) IS 'deciphers 64 bits under a key of 16 bytes';

-- The rounds of the configured secret, for the owner alone.
CREATE FUNCTION flakeid_plain.secret_rounds() RETURNS int[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secret text := (SELECT value FROM flakeid_plain.settings WHERE name = 'secret');
BEGIN
    IF secret IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'no secret is configured',
            DETAIL = 'Sealed and enciphered ids need a secret of 16 bytes.',
            HINT = 'As the owner: INSERT INTO flakeid_plain.settings VALUES (''secret'', replace(gen_random_uuid()::text, ''-'', ''''));';
    END IF;
    RETURN flakeid_plain.round_keys(CASE length(secret) WHEN 32 THEN decode(secret, 'hex') ELSE convert_to(secret, 'UTF8') END);
END
$$;

CREATE FUNCTION flakeid_plain.flake_encrypt(word bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN flakeid_plain.encipher(word, flakeid_plain.secret_rounds());
END
$$;
COMMENT ON FUNCTION flakeid_plain.flake_encrypt(bigint) IS 'enciphers 64 bits under the configured secret';

CREATE FUNCTION flakeid_plain.flake_decrypt(word bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN flakeid_plain.decipher(word, flakeid_plain.secret_rounds());
END
$$;
COMMENT ON FUNCTION flakeid_plain.flake_decrypt(bigint) IS
    'deciphers 64 bits under the configured secret; who may call it may look into enciphered ids';
