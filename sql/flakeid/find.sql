-- Finding ids by time

CREATE FUNCTION flake_floor(ts timestamptz) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_floor(ts timestamptz, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_floor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_ceil(ts timestamptz) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_ceil(ts timestamptz, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_ceil' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_floor(timestamptz) IS 'lowest id in the tick of that moment';
COMMENT ON FUNCTION flake_floor(timestamptz, text) IS 'lowest id of that layout in the tick of that moment';
COMMENT ON FUNCTION flake_ceil(timestamptz) IS 'highest id in the tick of that moment';
COMMENT ON FUNCTION flake_ceil(timestamptz, text) IS 'highest id of that layout in the tick of that moment';

CREATE FUNCTION flake_range_floor(during tstzrange) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_floor(during tstzrange, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_floor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_ceil(during tstzrange) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_ceil(during tstzrange, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_ceil' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_floor(tstzrange) IS 'lowest id whose tick begins in the range';
COMMENT ON FUNCTION flake_range_floor(tstzrange, text) IS 'lowest id of that layout whose tick begins in the range';
COMMENT ON FUNCTION flake_range_ceil(tstzrange) IS
    'highest id whose tick begins in the range; below flake_range_floor where there is none';
COMMENT ON FUNCTION flake_range_ceil(tstzrange, text) IS
    'highest id of that layout whose tick begins in the range; below flake_range_floor where there is none';

CREATE FUNCTION flakeid.in_range_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_in_range_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION flakeid.in_range_support(internal) IS 'planner support for flake_in_range';

CREATE FUNCTION flake_in_range(id int8, during tstzrange) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_in_range(int8, tstzrange) IS 'whether an id was stamped in the range, as <@';

CREATE FUNCTION flake_in_range(id int8, during tstzrange, layout text) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_in_range' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_in_range(int8, tstzrange, text) IS 'whether an id was stamped in the range, as <@';

-- The operators take domains of ranges. An operator of tstzrange itself would be the best match where the other side has no type yet,
-- as in during @> $1 and '[a,b)' <@ during, so that statements which compare ranges would fail beside flakeid.
CREATE DOMAIN flakeid.moments AS tstzrange;
CREATE DOMAIN flakeid.several_moments AS tstzmultirange;
CREATE DOMAIN flakeid.days AS daterange;
CREATE DOMAIN flakeid.local_times AS tsrange;
COMMENT ON DOMAIN flakeid.moments IS 'internal: tstzrange, as an operand of <@ and @>';
COMMENT ON DOMAIN flakeid.several_moments IS 'internal: tstzmultirange, as an operand of <@';
COMMENT ON DOMAIN flakeid.days IS 'internal: daterange, as an operand of <@';
COMMENT ON DOMAIN flakeid.local_times IS 'internal: tsrange, as an operand of <@';

CREATE FUNCTION flake_within(id int8, during flakeid.moments) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_within(int8, flakeid.moments) IS 'implementation of <@ operator';
CREATE FUNCTION flake_range_contains(during flakeid.moments, id int8) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_range_contains' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_range_contains(flakeid.moments, int8) IS 'implementation of @> operator';

CREATE OPERATOR <@ (LEFTARG = int8, RIGHTARG = flakeid.moments, FUNCTION = flake_within, COMMUTATOR = @>,
    RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
COMMENT ON OPERATOR <@ (int8, flakeid.moments) IS 'the id of flakeid.layout was stamped in the range';

CREATE OPERATOR @> (LEFTARG = flakeid.moments, RIGHTARG = int8, FUNCTION = flake_range_contains, COMMUTATOR = <@,
    RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
COMMENT ON OPERATOR @> (flakeid.moments, int8) IS 'the id of flakeid.layout was stamped in the range';

-- Days, local times and several ranges: as tstzrange, by the zone of the session.

CREATE FUNCTION flake_moments(during daterange) RETURNS tstzrange
    AS 'MODULE_PATHNAME', 'flakeid_moments' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_moments(during tsrange) RETURNS tstzrange
    AS 'MODULE_PATHNAME', 'flakeid_moments' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_moments(during tstzmultirange) RETURNS tstzrange
    AS 'MODULE_PATHNAME', 'flakeid_multirange_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_moments(daterange) IS 'the range of moments that days are in the zone of the session';
COMMENT ON FUNCTION flake_moments(tsrange) IS 'the range of moments that local times are in the zone of the session';
COMMENT ON FUNCTION flake_moments(tstzmultirange) IS 'the range from the first moment to the last';

CREATE FUNCTION flake_within(id int8, during flakeid.days) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_within' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
CREATE FUNCTION flake_within(id int8, during flakeid.local_times) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_within' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
CREATE FUNCTION flake_within(id int8, during flakeid.several_moments) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_in_multirange' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
CREATE FUNCTION flake_in_multirange(id int8, during tstzmultirange) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_in_multirange' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_within(int8, flakeid.days) IS 'implementation of <@ operator';
COMMENT ON FUNCTION flake_within(int8, flakeid.local_times) IS 'implementation of <@ operator';
COMMENT ON FUNCTION flake_within(int8, flakeid.several_moments) IS 'implementation of <@ operator';
COMMENT ON FUNCTION flake_in_multirange(int8, tstzmultirange) IS 'implementation of <@ operator';

CREATE OPERATOR <@ (LEFTARG = int8, RIGHTARG = flakeid.days, FUNCTION = flake_within, RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
CREATE OPERATOR <@ (LEFTARG = int8, RIGHTARG = flakeid.local_times, FUNCTION = flake_within, RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
CREATE OPERATOR <@ (LEFTARG = int8, RIGHTARG = flakeid.several_moments, FUNCTION = flake_within, RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
COMMENT ON OPERATOR <@ (int8, flakeid.days) IS 'the id of flakeid.layout was stamped on these days, in the zone of the session';
COMMENT ON OPERATOR <@ (int8, flakeid.local_times) IS 'the id of flakeid.layout was stamped in these local times, in the zone of the session';
COMMENT ON OPERATOR <@ (int8, flakeid.several_moments) IS 'the id of flakeid.layout was stamped in one of the ranges';

CREATE FUNCTION flake_bucket(stride interval, id int8, origin timestamptz DEFAULT '2001-01-01 00:00:00+00') RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pg_catalog.date_bin(stride, flake_timestamp(id), origin);
COMMENT ON FUNCTION flake_bucket(interval, int8, timestamptz) IS 'date_bin() of when an id was made, such as its hour; the origin is a Monday, midnight in UTC';
