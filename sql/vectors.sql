-- Known answers of the cipher: the vector of SPARX's authors, and ids of gosuda/randflake.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

-- SPARX-64/128 as published: words 0123 4567 89ab cdef under key 0011 2233 .. eeff give 2bbe f152
-- 01f5 5f98. flakeid holds the first byte of these in the lowest eight bits.
CREATE FUNCTION word(bytes bytea) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT sum((get_byte(bytes, i)::bit(8)::bit(64) >> (56 - 8 * i))::bigint::numeric)::bigint FROM generate_series(0, 7) i
$$;
SELECT word('\x0100000000000000'), word('\x0000000000000080'), word('\xffffffffffffffff');
SELECT flake_encrypt(word('\x0123456789abcdef'), '\x00112233445566778899aabbccddeeff') = word('\x2bbef15201f55f98') AS encrypts,
       flake_decrypt(word('\x2bbef15201f55f98'), '\x00112233445566778899aabbccddeeff') = word('\x0123456789abcdef') AS decrypts;

-- Randflake's ids, each under a secret of its own
CREATE TABLE known (secret_hex text, unix_seconds bigint, node int, sequence int, raw_id bigint, encrypted_id bigint, base32hex text);
\set file :abs_srcdir '/test/vectors/randflake.csv'
COPY known FROM :'file' (FORMAT csv, HEADER);
SELECT count(*) >= 200 AS many, count(*) FILTER (WHERE raw_id < 0) > 50 AS after_2041, count(*) FILTER (WHERE encrypted_id < 0) > 50 AS negative,
       min(unix_seconds), max(unix_seconds), count(DISTINCT secret_hex) = count(*) AS secrets FROM known;
SELECT * FROM known WHERE flake_encrypt(raw_id, decode(secret_hex, 'hex')) <> encrypted_id;
SELECT * FROM known WHERE flake_decrypt(encrypted_id, decode(secret_hex, 'hex')) <> raw_id;
SELECT * FROM known WHERE flake_to_text(encrypted_id, 'base32hex') <> base32hex OR flake_from_text(base32hex, 'base32hex') <> encrypted_id;
-- split, as a layout of the same fields without the cipher reads the raw id
CREATE VIEW positive AS SELECT * FROM known WHERE raw_id >= 0 OFFSET 0;
\set plain '''time:30:1s node:17 sequence:17 epoch=1730000000s'''
SELECT * FROM positive k WHERE (to_timestamp(unix_seconds), k.node, k.sequence) IS DISTINCT FROM
    (flake_timestamp(raw_id, :plain), flake_node(raw_id, :plain), flake_sequence(raw_id, :plain));
SELECT * FROM positive k, flake_inspect(raw_id, :plain) AS i
    WHERE (to_timestamp(unix_seconds), k.node, k.sequence, k.raw_id) IS DISTINCT FROM (i.timestamp, i.node, i.sequence, i.raw_id);

-- The whole way under a configured secret: composed and enciphered, deciphered and split. Every
-- secret needs a file, so a few rows, among them the first and last moments.
\set ECHO none
\set file :abs_srcdir '/test/sql/secret.sql'
\i :file
\set ECHO all
CREATE FUNCTION whole_way(k known) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    good boolean;
BEGIN
    PERFORM set_config('flakeid.secret_file', pg_temp.secret_file(k.secret_hex), true);
    SELECT flake_make(to_timestamp(k.unix_seconds), k.node, k.sequence, 'randflake') = k.encrypted_id
        AND (to_timestamp(k.unix_seconds), k.node, k.sequence, k.raw_id) IS NOT DISTINCT FROM (i.timestamp, i.node, i.sequence, i.raw_id)
        AND (to_timestamp(k.unix_seconds), k.node, k.sequence) IS NOT DISTINCT FROM (flake_timestamp(k.encrypted_id, 'randflake'),
            flake_node(k.encrypted_id, 'randflake'), flake_sequence(k.encrypted_id, 'randflake'))
        AND flake_encrypt(k.raw_id) = k.encrypted_id AND flake_decrypt(k.encrypted_id) = k.raw_id
        INTO good FROM flake_inspect(k.encrypted_id, 'randflake') AS i;
    RETURN good;
END $$;
SELECT to_timestamp(unix_seconds), node, sequence, raw_id < 0 AS top_bit, whole_way(k) FROM known k
    WHERE unix_seconds IN ((SELECT min(unix_seconds) FROM known), (SELECT max(unix_seconds) FROM known))
       OR unix_seconds = (SELECT max(unix_seconds) FROM known WHERE raw_id > 0)
       OR unix_seconds = (SELECT min(unix_seconds) FROM known WHERE raw_id < 0) ORDER BY unix_seconds, raw_id;
SELECT pg_temp.remove_secret_files();

DROP FUNCTION whole_way, word;
DROP VIEW positive;
DROP TABLE known;
DROP EXTENSION flakeid;
