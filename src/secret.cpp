#include "secret.hpp"

#include "member.hpp"
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

// What is wrong with the file, under the name of a system error or, with 0, of a bad configuration.
// Its path, `detail` and `hint` are for those who may see flakeid.secret_file, and for the log.
[[noreturn]] void refuse_file(int system_error, const char* message, const char* detail,
                              const char* hint)
{
    const bool shown = client_sees_settings();
    const char* text = psprintf("%s%sThe file is \"%s\".", detail, detail[0] != '\0' ? " " : "",
                                settings.secret_file);
    errno = system_error;
    ereport(ERROR,
            system_error != 0 ? errcode_for_file_access() : errcode(ERRCODE_CONFIG_FILE_ERROR),
            system_error != 0 ? errmsg("%s: %m", message) : errmsg("%s", message),
            shown ? errdetail("%s", text) : errdetail_log("%s", text),
            errhint("%s", shown ? hint : "The administrator finds the file in the server's log."));
    pg_unreachable();
}

// Opens, checks and reads the file, and leaves nothing of it behind but `bytes`.
void read_secret_file(const char* file, unsigned char* bytes)
{
    const int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        refuse_file(errno, "could not open the secret file", "", file_hint);
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
        refuse_file(0, "the secret file is not a regular file", "", file_hint);
    }
    if (known && !safe) {
        refuse_file(0, "the secret file has group or world access", "",
                    psprintf("Run: chmod 600 %s", file));
    }
    if (length < 0) {
        refuse_file(read_error, "could not read the secret file", "", file_hint);
    }
    if (!parsed) {
        refuse_file(0, "the secret file does not hold a secret", reason,
                    "A secret is 32 hexadecimal digits, or exactly 16 characters.");
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
            refuse_file(0, "the secret file has changed since the server first read it",
                        "Ids enciphered with one secret cannot be read with another.",
                        "Put the old secret back. To change to a new one on purpose, write it to "
                        "a new file and set flakeid.secret_file to that.");
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
    const Oid function = member_beside(fcinfo->flinfo->fn_oid, "flake_decrypt", INT8OID);
    if (function_aclcheck(function, user, ACL_EXECUTE) != ACLCHECK_OK) {
        ereport(
            ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied to look into enciphered ids"),
            errdetail("Readers and flake_make on an enciphered layout need EXECUTE on "
                      "flake_decrypt(bigint); an index on such a reader needs it for every role "
                      "that inserts and for the table's owner."),
            errhint("GRANT EXECUTE ON FUNCTION %s.flake_decrypt(bigint) TO %s;",
                    quote_identifier(get_namespace_name(get_func_namespace(function))),
                    quote_identifier(GetUserNameFromId(user, false))));
    }
}

} // namespace flakeid
