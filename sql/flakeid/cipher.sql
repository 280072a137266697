-- The cipher
--
-- Whoever may call flake_decrypt(bigint) may look into enciphered ids.

CREATE FUNCTION flake_encrypt(word int8) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_encrypt' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_decrypt(word int8) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_decrypt' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encrypt(int8) IS 'enciphers 64 bits under the configured secret';
COMMENT ON FUNCTION flake_decrypt(int8) IS
    'deciphers 64 bits under the configured secret; who may call it may look into enciphered ids';

CREATE FUNCTION flake_encrypt(word int8, key bytea) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_encrypt_with_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_decrypt(word int8, key bytea) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_decrypt_with_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encrypt(int8, bytea) IS 'enciphers 64 bits under a key of 16 bytes';
COMMENT ON FUNCTION flake_decrypt(int8, bytea) IS 'deciphers 64 bits under a key of 16 bytes';
