#include "settings/prefix_key.hpp"

#include "settings/subkey.hpp"

namespace flakeid {

const char* require_prefix(text* prefix)
{
    const char* string = text_to_cstring(prefix);
    if (!is_prefix(string, strlen(string))) {
        ereport(
            ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("invalid prefix \"%s\"", string),
            errhint("A prefix is a small letter, and up to %d small letters, digits and _ after "
                    "it.",
                    static_cast<int>(max_prefix) - 1));
    }
    return string;
}

void make_prefix_key(int number, const char* prefix, unsigned char (&key)[sparx_key_bytes])
{
    make_subkey(expanded_secret.subkey[number], psprintf("flakeid prefix %s", prefix), key);
}

const SparxKey& prefix_key(int number, const char* prefix)
{
    for (const PrefixKey& known : expanded_secret.prefix) {
        if (known.number == number && strcmp(known.prefix, prefix) == 0) {
            return known.key;
        }
    }
    unsigned char bytes[sparx_key_bytes];
    make_prefix_key(number, prefix, bytes);
    PrefixKey& entry = expanded_secret.prefix[expanded_secret.next_prefix];
    expanded_secret.next_prefix = (expanded_secret.next_prefix + 1) % max_prefix_keys;
    sparx_expand(bytes, &entry.key);
    wipe(bytes, sizeof bytes);
    strlcpy(entry.prefix, prefix, sizeof entry.prefix);
    entry.number = number;
    return entry.key;
}

} // namespace flakeid
