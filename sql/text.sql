-- Text forms of ids, held against those that the public libraries print.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

CREATE TEMP TABLE bwmarrin (id bigint, unix_ms bigint, node int, step int,
    base2 text, base32 text, base36 text, base58 text, base64 text);
\set file :abs_srcdir '/test/vectors/bwmarrin.csv'
COPY bwmarrin FROM :'file' (FORMAT csv, HEADER);
SELECT * FROM bwmarrin WHERE ROW (base2, base32, base36, base58, base64) IS DISTINCT FROM
    ROW (flake_to_text(id, 'base2'), flake_to_text(id, 'base32'), flake_to_text(id, 'base36'),
         flake_to_text(id, 'base58'), flake_to_text(id, 'base64'));
SELECT id FROM bwmarrin b,
    LATERAL (VALUES ('base2', base2), ('base32', base32), ('base36', base36), ('base58', base58), ('base64', base64)) AS f (format, text)
    WHERE flake_from_text(text, format) <> b.id;
CREATE TEMP TABLE randflake (secret_hex text, unix_seconds bigint, node bigint, sequence bigint,
    raw_id bigint, encrypted_id bigint, base32hex text);
\set file :abs_srcdir '/test/vectors/randflake.csv'
COPY randflake FROM :'file' (FORMAT csv, HEADER);
SELECT count(*), count(*) FILTER (WHERE flake_to_text(encrypted_id, 'base32hex') = base32hex
    AND flake_from_text(base32hex, 'base32hex') = encrypted_id) AS good FROM randflake;
CREATE TEMP TABLE form AS SELECT unnest(ARRAY['base2', 'base16', 'base32', 'base32crockford', 'base32hex',
    'base36', 'base58', 'base62', 'base64', 'base64url']) AS format;
SELECT format, flake_to_text(-1, format) AS minus_one, flake_to_text(0, format) AS zero,
    flake_to_text(175928847299117063, format) AS an_id FROM form;
SELECT format, id FROM form, (SELECT (-9223372036854775808)::bigint AS id UNION SELECT 9223372036854775807
    UNION SELECT encrypted_id FROM randflake) AS ids
    WHERE flake_from_text(flake_to_text(id, format), format) <> id;
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY flake_to_text(id, 'base32crockford') COLLATE "C") AS before FROM bwmarrin) s WHERE before > id;
SELECT flake_to_text(1, 'base33');
SELECT flake_from_text('', 'base58');
SELECT flake_from_text('0l', 'base58');
SELECT flake_from_text('01', 'base36');
SELECT flake_from_text('zzzzzzzzzzzzz', 'base36');
SELECT flake_from_text('1234567890123456789', 'base62');
SELECT flake_from_text('abc~', 'base32hex');

DROP EXTENSION flakeid;
