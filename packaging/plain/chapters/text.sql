-- -------------------------------------------------------------------------------------------------
-- Text forms of ids
-- -------------------------------------------------------------------------------------------------

-- What there is to know of a form; base64 is not a number system, and has its own code.
CREATE FUNCTION flakeid_plain.text_form(format text, OUT digits text, OUT fixed int, OUT one_case boolean)
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT form.digits, form.fixed INTO digits, fixed FROM (VALUES
        ('base2', '01', NULL),
        ('base16', '0123456789abcdef', 16),
        ('base32', 'ybndrfg8ejkmcpqxot1uwisza345h769', NULL),
        ('base32crockford', '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13),
        ('base32hex', '0123456789abcdefghijklmnopqrstuv', NULL),
        ('base36', '0123456789abcdefghijklmnopqrstuvwxyz', NULL),
        ('base58', '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ', NULL),
        ('base62', '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', NULL),
        ('base64', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', NULL),
        ('base64url', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', 11)) AS form (name, digits, fixed)
        WHERE form.name = format;
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('there is no text form "%s"', format),
            HINT = 'The forms are base2, base16, base32, base32crockford, base32hex, base36, base58, base62, base64, base64url.';
    END IF;
    one_case := NOT (digits ~ '[a-z]' AND digits ~ '[A-Z]');
END
$$;

CREATE FUNCTION flakeid_plain.flake_to_text(id bigint, format text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    form record := flakeid_plain.text_form(format);
    base int := length(form.digits);
    rest numeric := CASE WHEN id < 0 THEN id + 18446744073709551616 ELSE id END;
    written text := '';
BEGIN
    IF format = 'base64' THEN
        RETURN encode(convert_to(id::text, 'UTF8'), 'base64');
    END IF;
    IF format = 'base64url' THEN
        rest := rest * 4;   -- 64 bits and two zero bits make 11 digits
    END IF;
    LOOP
        written := substr(form.digits, mod(rest, base)::int + 1, 1) || written;
        rest := div(rest, base);
        EXIT WHEN rest = 0;
    END LOOP;
    RETURN lpad(written, greatest(form.fixed, length(written)), left(form.digits, 1));
END
$$;

CREATE FUNCTION flakeid_plain.flake_from_text(text text, format text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    form record := flakeid_plain.text_form(format);
    base int := length(form.digits);
    size int := octet_length(text);
    most numeric := 18446744073709551615;
    value numeric := 0;
    place int := 0;         -- of the wrong character
    digit int;
    letter text;
    padding int;
    decimal bytea;
    negative int;
    status text;
BEGIN
    <<read>>
    BEGIN
        IF size = 0 THEN
            status := 'empty';
            EXIT read;
        END IF;
        IF format = 'base64' THEN
            IF size % 4 <> 0 OR size > 28 THEN
                status := 'bad length';
                EXIT read;
            END IF;
            padding := CASE WHEN right(text, 2) = '==' THEN 2 WHEN right(text, 1) = '=' THEN 1 ELSE 0 END;
            FOR i IN 1 .. length(text) - padding LOOP
                place := i;
                IF strpos(form.digits, substr(text, i, 1)) = 0 THEN
                    status := 'foreign';
                    EXIT read;
                END IF;
            END LOOP;
            IF padding > 0 AND (strpos(form.digits, substr(text, place, 1)) - 1) & (CASE padding WHEN 1 THEN 3 ELSE 15 END) <> 0 THEN
                status := 'not canonical';
                EXIT read;
            END IF;
            decimal := decode(text, 'base64');
            size := length(decimal);
            negative := (size > 0 AND get_byte(decimal, 0) = 45)::int;
            most := 9223372036854775807::numeric + negative;
            FOR i IN negative .. size - 1 LOOP
                place := i / 3 * 4 + i % 3 + 1;     -- the first character with bits of that byte
                digit := get_byte(decimal, i) - 48;
                IF digit NOT BETWEEN 0 AND 9 THEN
                    status := 'foreign';
                    EXIT read;
                END IF;
                value := value * 10 + digit;
                IF value > most THEN
                    status := 'overflow';
                    EXIT read;
                END IF;
                IF value = 0 AND size > 1 THEN
                    status := 'not canonical';
                    EXIT read;
                END IF;
            END LOOP;
            IF size = negative THEN
                status := 'bad length';
                EXIT read;
            END IF;
            RETURN CASE negative WHEN 1 THEN -value ELSE value END;
        END IF;
        IF size <> form.fixed THEN
            status := 'bad length';
            EXIT read;
        END IF;
        IF form.fixed IS NULL AND size > 1 AND left(text, 1) = left(form.digits, 1) THEN
            status := 'not canonical';
            EXIT read;
        END IF;
        FOR i IN 1 .. length(text) LOOP
            place := i;
            letter := substr(text, i, 1);
            digit := strpos(form.digits, letter) - 1;
            IF digit < 0 THEN
                status := CASE WHEN form.one_case AND letter ~ '^[a-zA-Z]$'
                    AND strpos(form.digits, translate(letter, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ',
                        'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')) > 0 THEN 'not canonical' ELSE 'foreign' END;
                EXIT read;
            END IF;
            value := value * base + digit;
            IF format <> 'base64url' AND value > most THEN
                status := 'overflow';
                EXIT read;
            END IF;
        END LOOP;
        IF format = 'base64url' THEN
            IF mod(value, 4) <> 0 THEN
                status := 'not canonical';
                EXIT read;
            END IF;
            value := div(value, 4);
        END IF;
        RETURN CASE WHEN value > 9223372036854775807 THEN value - 18446744073709551616 ELSE value END;
    END;
    RAISE EXCEPTION USING
        ERRCODE = CASE status WHEN 'overflow' THEN 'numeric_value_out_of_range' ELSE 'invalid_text_representation' END,
        MESSAGE = format('invalid %s text of a flake: "%s"', format, text),
        DETAIL = CASE status
            WHEN 'empty' THEN 'The text is empty.'
            WHEN 'foreign' THEN format('Character %s, "%s", does not belong there.', place, substr(text, place, 1))
            WHEN 'not canonical' THEN 'This is another spelling of an id than flake_to_text() writes.'
            WHEN 'overflow' THEN 'It stands for a number that 64 bits do not hold.'
            ELSE CASE format WHEN 'base64' THEN 'Such a text has 4 to 28 characters, a multiple of 4.'
                ELSE format('Such a text has %s characters, and this one has %s.', form.fixed, length(text)) END
            END;
END
$$;
