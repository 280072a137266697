#include "secret.hpp"

#include "shared.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flakeid {

ExpandedSecret expanded_secret;

namespace {

// Enciphered to tell one secret from another without showing either.
constexpr uint64_t marked_block = UINT64_C(0x666c616b65696421);

constexpr char file_hint[] =
    "Put the secret back, or correct flakeid.secret_file. A new secret cannot read ids made with "
    "the old one; for a new installation, as the user that runs the server: (umask 077; openssl "
    "rand -hex 16 > FILE)";

// Opens, checks and reads the file, and leaves nothing of it behind but `bytes`.
void read_secret_file(const char* file, unsigned char* bytes)
{
    const int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        ereport(ERROR, errcode_for_file_access(),
                errmsg("could not open secret file \"%s\": %m", file), errhint("%s", file_hint));
    }
    struct stat status;
    char text[2 * sparx_key_bytes + 2]; // one more than a secret and a newline
    ssize_t length = -1;
    const char* reason = nullptr;
    bool parsed = false;
    const bool known = fstat(descriptor, &status) == 0;
    const bool safe =
        known && S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
    if (safe) {
        length = read(descriptor, text, sizeof text);
    }
    const int read_error = errno;
    close(descriptor);
    if (safe && length >= 0) {
        auto used = static_cast<size_t>(length);
        if (used > 0 && text[used - 1] == '\n') {
            used--;
        }
        parsed = parse_secret(text, used, bytes, &reason);
        wipe(text, sizeof text);
    }
    if (known && !S_ISREG(status.st_mode)) {
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("secret file \"%s\" is not a regular file", file), errhint("%s", file_hint));
    }
    if (known && !safe) {
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("secret file \"%s\" has group or world access", file),
                errhint("Run: chmod 600 %s", file));
    }
    if (length < 0) {
        errno = read_error;
        ereport(ERROR, errcode_for_file_access(),
                errmsg("could not read secret file \"%s\": %m", file));
    }
    if (!parsed) {
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("secret file \"%s\" does not hold a secret", file), errdetail("%s", reason),
                errhint("A secret is 32 hexadecimal digits, or exactly 16 characters."));
    }
}

} // namespace

void load_key()
{
    const bool has_file = settings.secret_file[0] != '\0';
    forget_key();
    if (has_file && settings.has_secret) {
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("flakeid.secret and flakeid.secret_file are both set"),
                errhint("Remove one of them; flakeid.secret_file is the recommended way."));
    }
    if (has_file) {
        unsigned char bytes[sparx_key_bytes];
        read_secret_file(settings.secret_file, bytes);
        sparx_expand(bytes, &expanded_secret.key);
        wipe(bytes, sizeof bytes);
        if (!shared_secret_mark(settings.secret_file,
                                sparx_encrypt(expanded_secret.key, marked_block))) {
            forget_key();
            ereport(
                ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("secret file \"%s\" has changed since the server first read it",
                       settings.secret_file),
                errdetail("Ids enciphered with one secret cannot be read with another."),
                errhint("Put the old secret back. To change to a new one on purpose, write it to "
                        "a new file and set flakeid.secret_file to that."));
        }
    } else if (settings.has_secret) {
        if (!settings.preloaded) {
            ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                    errmsg("flakeid.secret needs flakeid in shared_preload_libraries"),
                    errdetail("Without it every role can see the secret with SHOW."),
                    errhint("Take the secret out of the configuration and set flakeid.secret_file, "
                            "which needs no preloading, or add flakeid to shared_preload_libraries "
                            "and restart the server."));
        }
        sparx_expand(settings.secret, &expanded_secret.key);
    } else {
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("no secret is configured"),
            errdetail("Enciphered ids need a secret of 16 bytes."),
            errhint("Make a file with (umask 077; openssl rand -hex 16 > FILE), owned by the user "
                    "that runs the server, and set flakeid.secret_file to its path."));
    }
    expanded_secret.generation = settings.generation;
}

void forget_key()
{
    wipe(&expanded_secret, sizeof expanded_secret);
}

void check_decrypt_right(FunctionCallInfo fcinfo, Oid user)
{
    Oid argument = INT8OID;
    char* schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
    List* name = list_make2(makeString(schema), makeString(pstrdup("flake_decrypt")));
    const Oid function = LookupFuncName(name, 1, &argument, false);
    if (function_aclcheck(function, user, ACL_EXECUTE) != ACLCHECK_OK) {
        ereport(
            ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied to look into enciphered ids"),
            errdetail("Readers and flake_make on an enciphered layout need EXECUTE on "
                      "flake_decrypt(bigint); an index on such a reader needs it for every role "
                      "that inserts and for the table's owner."),
            errhint("GRANT EXECUTE ON FUNCTION %s.flake_decrypt(bigint) TO %s;",
                    quote_identifier(schema), quote_identifier(GetUserNameFromId(user, false))));
    }
}

} // namespace flakeid
