-- Bad input, and how the error says what to do.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
SET datestyle = 'ISO';
\pset format unaligned
\pset tuples_only
CREATE EXTENSION flakeid;

-- Layouts that do not parse or do not add up: by argument, and as the setting
CREATE TABLE bad_layout (number int GENERATED ALWAYS AS IDENTITY, layout text);
INSERT INTO bad_layout (layout) VALUES
    (''), ('  '), (NULL), ('Snowflake'), ('snowflak'), ('time:41:1ms node:10 sequence:12;'), ('time:41:1ms node sequence:12'),
    ('time:41 node:10 sequence:12'), ('time:41:1ms node:10:1ms sequence:12'), ('time:41:1ms node:ten sequence:12'),
    ('time:41:1ms node:0 sequence:12'), ('time:41:1ms node:65 sequence:12'), ('time:41:1fortnight node:10 sequence:12'),
    ('time:41:0ms node:10 sequence:12'), ('time:41:2d node:10 sequence:12'), ('node:10 sequence:12'),
    ('time:41:1ms node:10 sequence:12 time:1:1ms'), ('time:41:1ms node:5 node:5 sequence:12'), ('time:41:1ms Node:10 sequence:12'),
    ('time:41:1ms 1st:10 sequence:12'), ('time:41:1ms knöten:10 sequence:12'),
    ('time:42:1ms node:10 sequence:13'), ('time:20:1ms node:32 sequence:11'), ('time:20:1ms node:11 sequence:32'),
    ('time:20:1ms sequence:11 back:8'), ('time:41:1ms node:10 sequence:12 epoch=yesterday'),
    ('time:41:1ms node:10 sequence:12 epoch=2010-13-01'), ('time:41:1ms node:10 sequence:12 epoch=1288834974'),
    ('time:41:1ms node:10 sequence:12 cipher=aes'), ('time:41:1ms node:10 sequence:12 sign=1'),
    ('time:41:1ms epoch=0 node:10 sequence:12'), ('time:41:1ms node:10 sequence:12 epoch=0 epoch=0'),
    ('time:20:1ms a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1 n:1 o:1 p:1 q:1 r:1 s:1 t:1 u:1 v:1 w:1 x:1 y:1 z:1 sequence:2');
SELECT pg_temp.raised(format('SELECT flake_next(%L)', layout)) FROM bad_layout ORDER BY number;
-- every function that takes a layout says the same, and so does the setting
SELECT call, layout, pg_temp.raised(format(call, layout)) FROM bad_layout, unnest(ARRAY[
    'SELECT flake_timestamp(5, %L)', 'SELECT flake_node(5, %L)', 'SELECT flake_sequence(5, %L)', 'SELECT flake_field(5, ''node'', %L)',
    'SELECT flake_inspect(5, %L)', 'SELECT flake_explain(5, %L)', 'SELECT flake_make(now(), 0, 0, %L)', 'SELECT flakeid.describe(%L)',
    'SELECT flake_floor(now(), %L)', 'SELECT flake_ceil(now(), %L)', 'SELECT flake_block(1, %L)', 'SELECT flake_next_many(1, %L)',
    'SET flakeid.layout = %L']) AS call
WHERE layout IS NOT NULL AND pg_temp.raised(format(call, layout)) IS DISTINCT FROM pg_temp.raised(format('SELECT flake_next(%L)', layout))
ORDER BY number, call COLLATE "C";

-- Node out of the layout's range
SET flakeid.node = 1024;
SELECT pg_temp.raised('SELECT flake_next()');
SELECT pg_temp.raised($$SELECT flake_next('twitter')$$);
SELECT pg_temp.raised('SELECT flake_block(5)');
SELECT pg_temp.raised('SELECT flake_next_many(5)');
SELECT pg_temp.raised($$SELECT flake_next('mastodon')$$);
SELECT pg_temp.raised($$SELECT flake_next('discord')$$);
SELECT flake_node(flake_next('sonyflake2'), 'sonyflake2'); -- has 16 bits for it
-- What flakeid.layout cannot make is in nobody's way
SET flakeid.layout = 'time:41:1ms node:10 sequence:12 epoch=2016-01-01';
SELECT flake_node(flake_next('time:41:1ms sequence:11 node:11 epoch=2016-01-01'), 'time:41:1ms sequence:11 node:11 epoch=2016-01-01');
RESET flakeid.layout;
SET flakeid.node = '1020-1024';
SELECT pg_temp.raised('SELECT flake_next()');
RESET flakeid.node;

-- Parts out of range
SELECT pg_temp.raised('SELECT flake_make(now(), 1024, 0)');
SELECT pg_temp.raised('SELECT flake_make(now(), -1, 0)');
SELECT pg_temp.raised($$SELECT flake_make(now(), 0, 256, 'sonyflake2')$$);
SELECT pg_temp.raised('SELECT flake_make(now(), 0, -1)');
SELECT pg_temp.raised('SELECT flake_block(4097)');
SELECT pg_temp.raised('SELECT flake_block(0)');
SELECT pg_temp.raised('SELECT flake_block(NULL)');
SELECT pg_temp.raised('SELECT flake_next_many(-5)');
SELECT pg_temp.raised('SELECT flake_next_many(NULL)');
SELECT pg_temp.raised($$SELECT flake_field(5, 'shard')$$);
SELECT pg_temp.raised($$SELECT flake_field(5, 'time ', 'twitter')$$);

-- Time before the epoch or past the end
SELECT pg_temp.raised($$SELECT flake_make('2010-11-04T01:42:54.656999Z', 0, 0)$$);
SELECT flake_make('2010-11-04T01:42:54.657Z', 0, 0);
SELECT flake_make('2080-07-10T17:30:30.208999Z', 1023, 4095) = 9223372036854775807;
SELECT pg_temp.raised($$SELECT flake_make('2080-07-10T17:30:30.209Z', 0, 0)$$);
SELECT pg_temp.raised($$SELECT flake_make('infinity', 0, 0)$$);
SELECT pg_temp.raised($$SELECT flake_make('-infinity', 0, 0)$$);
SELECT pg_temp.raised($$SELECT flake_make('2058-11-05T17:10:24Z', 0, 0, 'time:30:1s node:17 sequence:17 epoch=1730000000s cipher=sparx64')$$);
SELECT pg_temp.raised($$SELECT flake_make('4714-11-24 00:00:00 BC', 0, 0)$$);
SELECT pg_temp.raised($$SELECT flake_make('294276-12-31', 0, 0)$$);
SELECT pg_temp.raised($$SELECT flake_timestamp(9223372036854775807, 'time:62:1s sequence:1')$$);
SELECT pg_temp.raised($$SELECT flake_next('uidgenerator')$$);
SELECT regexp_replace(pg_temp.raised($$SELECT flake_next('time:41:1ms node:10 sequence:12 epoch=2999-01-01')$$), 'says [^,]*', 'says NOW');
SELECT pg_temp.raised($$SELECT flake_next('time:41:1h node:10 sequence:12')$$);
SELECT pg_temp.raised($$SELECT flake_next('cockroachdb')$$);

-- Ids that are none of the layout
SELECT pg_temp.raised('SELECT flake_timestamp(-1)');
SELECT pg_temp.raised('SELECT flake_inspect(-9223372036854775808)');
SELECT pg_temp.raised($$SELECT flake_node(9007199254740992, 'js53')$$);

-- No secret
SELECT pg_temp.raised($$SELECT flake_next('randflake')$$);
SELECT pg_temp.raised($$SELECT flake_timestamp(5, 'randflake')$$);
SELECT pg_temp.raised($$SELECT flake_make(now(), 0, 0, 'randflake')$$);
SELECT pg_temp.raised('SELECT flake_encrypt(5)');
SELECT pg_temp.raised('SELECT flake_decrypt(5)');
SELECT pg_temp.raised($$SELECT flake_encrypt(5, '\x00112233445566778899aabbccddee')$$);
SELECT pg_temp.raised($$SELECT flake_decrypt(5, '')$$);

-- Order by time where there is none
SELECT pg_temp.raised($$SELECT flake_floor(now(), 'rollback3')$$);
SELECT pg_temp.raised($$SELECT flake_ceil(now(), 'time:41:1ms node:10 sequence:12 cipher=sparx64')$$);

-- Text that is no flake
SELECT pg_temp.raised($$SELECT 'x'::flake$$);
SELECT pg_temp.raised($$SELECT '9223372036854775808'::flake$$);
SELECT pg_temp.raised($$SELECT '-9223372036854775809'::flake$$);
SELECT pg_temp.raised($$SELECT flake_from_text('0', 'base58')$$);
SELECT pg_temp.raised($$SELECT flake_to_text(5, 'base57')$$);

DROP TABLE bad_layout;
DROP EXTENSION flakeid;
