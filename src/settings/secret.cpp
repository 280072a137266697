#include "settings/secret.hpp"

#include "server/guc.hpp"
#include "server/extension.hpp"
#include "server/messages.hpp"
#include "server/shared.hpp"
#include "settings/subkey.hpp"

extern "C" {
#include "common/hashfn.h"
}

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flakeid {

ExpandedSecret expanded_secret;

namespace {

constexpr int max_secret_fingerprints = 1024;

// The fingerprint of a key of the file of that name, since the server's start.
struct SecretFingerprint {
    uint64_t file; // hash of the name and of the number of the key
    uint64_t fingerprint;
};
static_assert(is_plain<SecretFingerprint>);

using SecretFingerprints = SharedTable<SecretFingerprint, max_secret_fingerprints>;

void create(SecretFingerprints* fingerprints)
{
    pg_atomic_init_u32(&fingerprints->count, 0);
}

Shared<SecretFingerprints, create> shared;

// What SHOW prints of flakeid.secret, set or not. It also takes the place of the secret in the
// server's own copy of the setting, which its log of a changed configuration would print.
constexpr char hidden[] = "********";

char* secret_string;
char* secret_file_string;

const char* secret_file; // empty: none
bool (*used_before)();   // as load_secret() was told

bool parse_secret(const char* text, size_t length, unsigned char* key, const char** reason)
{
    if (length == sparx_key_bytes) {
        memcpy(key, text, sparx_key_bytes);
        return true;
    }
    if (length != 2 * sparx_key_bytes) {
        *reason = "The secret has the wrong length.";
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            wipe(key, sparx_key_bytes);
            *reason = "The secret has 32 characters, but not all of them are hexadecimal digits.";
            return false;
        }
        key[i / 2] = static_cast<unsigned char>(i % 2 == 0 ? digit << 4 : key[i / 2] | digit);
    }
    return true;
}

struct SecretExtra {
    bool present;
    unsigned char key[sparx_key_bytes];
};
static_assert(is_plain<SecretExtra>);

// A parallel worker is handed the hidden text, and takes what it inherited from the postmaster.
SecretExtra inherited_secret;
SecretExtra* current_secret;
SecretExtra setting_secret;

// Keeps the key in `extra` alone and takes it out of the server's copy of the text.
bool check_secret(char** newval, void** extra, GucSource)
{
    SecretExtra secret{};
    const size_t length = strlen(*newval);
    // The server's own message would show the value.
    GUC_check_errmsg("invalid value for parameter \"flakeid.secret\"");
    if (IsParallelWorker() && strcmp(*newval, hidden) == 0) {
        secret = inherited_secret;
    } else if (length > 0) {
        const char* reason;
        if (!parse_secret(*newval, length, secret.key, &reason)) {
            GUC_check_errdetail("%s", reason);
            GUC_check_errhint("A secret is 32 hexadecimal digits, or exactly 16 characters.");
            return false;
        }
        secret.present = true;
    }
    const bool kept = keep(secret, extra);
    wipe(secret.key, sizeof secret.key);
    return replace_value(newval, hidden) && kept;
}

void assign_secret(const char*, void* extra)
{
    auto* secret = static_cast<SecretExtra*>(extra);
    // In a parallel worker, which takes over the leader's settings, the server has freed it
    // already.
    if (!IsParallelWorker()) {
        inherited_secret = *secret;
        if (current_secret != nullptr && current_secret != secret) {
            wipe(current_secret->key, sizeof current_secret->key);
        }
        current_secret = secret;
    }
    forget_secret();
    setting_secret = *secret;
    settings_changed();
}

const char* show_secret()
{
    return hidden;
}

bool check_secret_file(char** newval, void**, GucSource)
{
    if ((*newval)[0] != '\0' && !is_absolute_path(*newval)) {
        GUC_check_errdetail("flakeid.secret_file must be an absolute path.");
        return false;
    }
    return true;
}

void assign_secret_file(const char* newval, void*)
{
    secret_file = newval;
    forget_secret();
    settings_changed();
}

// True when `fingerprint` is the first fingerprint of that key of the file of that name.
bool same_fingerprint(const char* file, int number, uint64_t fingerprint)
{
    const uint64_t name =
        hash_bytes_extended(reinterpret_cast<const unsigned char*>(file),
                            static_cast<int>(strlen(file)), static_cast<uint64_t>(number));
    const SecretFingerprint* entry = shared.get()->find_or_take(
        [&](const SecretFingerprint& other) { return other.file == name; },
        [&](SecretFingerprint& fresh) {
            fresh = SecretFingerprint{name, fingerprint};
        });
    if (entry == nullptr) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("%d keys of secret files were used already", max_secret_fingerprints),
                errhint("Restart the server."));
    }
    return entry->fingerprint == fingerprint;
}

// An error that says what is wrong with the file: a system error or, with 0, a bad configuration.
// Its path, `detail` and `hint` are for those who may see flakeid.secret_file, and for the log.
[[noreturn]] void refuse_file(int system_error, const char* message, const char* detail,
                              const char* hint)
{
    const bool shown = client_sees_settings();
    const char* text =
        psprintf("%s%sThe file is \"%s\".", detail, detail[0] != '\0' ? " " : "", secret_file);
    errno = system_error;
    ereport(ERROR,
            system_error != 0 ? errcode_for_file_access() : errcode(ERRCODE_CONFIG_FILE_ERROR),
            system_error != 0 ? errmsg("%s: %m", message) : errmsg("%s", message),
            shown ? errdetail("%s", text) : errdetail_log("%s", text),
            errhint("%s", shown ? hint : "The administrator finds the file in the server's log."));
    pg_unreachable();
}

constexpr size_t most_line = 2 * sparx_key_bytes + 4; // a number, a blank, a secret, a newline

void take_key(int number, const unsigned char (&key)[sparx_key_bytes])
{
    sparx_expand(key, &expanded_secret.key[number]);
    make_subkey(key, psprintf("flakeid sealed %d", number), expanded_secret.subkey[number]);
    sparx_expand(expanded_secret.subkey[number], &expanded_secret.sealed[number]);
    expanded_secret.present |= 1u << number;
}

// Expands the keys of the text of a file, or says what is wrong with it. `named`: keys have
// numbers.
const char* expand_keys(const char* text, size_t length, bool* named)
{
    const KeyFile file = split_key_file(text, length);
    *named = file.named;
    const char* reason = nullptr;
    int line = 0;
    for (; line < file.count && reason == nullptr; line++) {
        if (line + 1 == file.count && file.status != KeyFileStatus::ok) {
            reason = file.status == KeyFileStatus::repeated
                         ? "It has the number of a line before."
                         : "It does not begin with a number and one blank.";
            continue;
        }
        unsigned char bytes[sparx_key_bytes];
        const KeyLine& found = file.lines[line];
        if (parse_secret(found.secret, found.length, bytes, &reason)) {
            take_key(found.key, bytes);
        }
        wipe(bytes, sizeof bytes);
    }
    expanded_secret.current = file.lines[0].key;
    return reason == nullptr || !file.named ? reason : psprintf("Line %d: %s", line, reason);
}

[[noreturn]] void refuse_unreadable(int system_error, const char* message)
{
    refuse_file(
        system_error, message, "",
        used_before()
            ? "Put the secret back, or correct flakeid.secret_file. Ids of this database were made "
              "with it, and a new one cannot read them."
            : psprintf("Put the secret back, or correct flakeid.secret_file. A new secret cannot "
                       "read ids made with the old one; for a new installation, as the user that "
                       "runs the server: (umask 077; set -C; openssl rand -hex 16 > %s)",
                       shell_word(secret_file)));
}

// Opens, checks and reads the file, and leaves nothing of it behind but the expanded keys.
void read_secret_file(const char* file)
{
    const int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        refuse_unreadable(errno, "could not open the secret file");
    }
    struct stat status;
    char text[max_keys * most_line + 1]; // one more than all keys
    ssize_t length = -1;
    const char* reason = nullptr;
    bool named = false;
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
        reason = expand_keys(text, used, &named);
        wipe(text, sizeof text);
    }
    if (known && !S_ISREG(status.st_mode)) {
        refuse_unreadable(0, "the secret file is not a regular file");
    }
    if (known && !safe) {
        refuse_file(
            0, "the secret file has group or world access", "",
            status.st_uid == geteuid()
                ? psprintf("If it is the file that you mean, run: chmod 600 %s",
                           shell_word(secret_file))
                : "Set flakeid.secret_file to a file that belongs to the user that runs the "
                  "server. This one belongs to another.");
    }
    if (length < 0) {
        refuse_unreadable(read_error, "could not read the secret file");
    }
    if (reason != nullptr) {
        forget_secret();
        refuse_file(0, "the secret file does not hold a secret", reason,
                    named ? "Each line is a number from 0 to 15, a blank, and a secret of 32 "
                            "hexadecimal digits or exactly 16 characters; no line is empty."
                          : "A secret is 32 hexadecimal digits, or exactly 16 characters.");
    }
}

// Each key of a file stays the same while the server runs; others may come and go.
void check_file_fingerprints()
{
    for (int number = 0; number < max_keys; number++) {
        if (has_key(number) && !same_fingerprint(secret_file, number,
                                                 fingerprint_of_key(expanded_secret.key[number]))) {
            const char* which = number == 0 && expanded_secret.present == 1
                                    ? ""
                                    : psprintf("Key %d is another one. ", number);
            forget_secret();
            refuse_file(
                0, "the secret file has changed since the server first read it",
                psprintf("%sIds enciphered with one secret cannot be read with another.", which),
                "Put the old secret back. To change to a new one on purpose, write it to "
                "a new file and set flakeid.secret_file to that.");
        }
    }
}

} // namespace

void secret_init()
{
    DefineCustomStringVariable(
        "flakeid.secret", "Secret of enciphered layouts.",
        "32 hexadecimal digits or 16 characters. Needs shared_preload_libraries; "
        "flakeid.secret_file does not.",
        &secret_string, "", PGC_SIGHUP,
        guc_flags(GUC_SUPERUSER_ONLY | GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE),
        check_secret, assign_secret, show_secret);
    DefineCustomStringVariable(
        "flakeid.secret_file", "File that holds the secret.",
        "An absolute path; only the owner of the file may have access to it.", &secret_file_string,
        "", PGC_SUSET, guc_flags(GUC_SUPERUSER_ONLY), check_secret_file, assign_secret_file,
        nullptr);
    shared.add();
}

SecretSource secret_source()
{
    return secret_file[0] != '\0'    ? SecretSource::file
           : !setting_secret.present ? SecretSource::none
           : shared_preloaded()      ? SecretSource::setting
                                     : SecretSource::not_honoured;
}

const char* no_secret_hint(bool used)
{
    if (used) {
        return "Set flakeid.secret_file to the file of the secret that ids were made with here: by "
               "ALTER ROLE, or in the server's configuration, where databases come and go.";
    }
    constexpr char example[] = "/etc/postgresql/flakeid.secret";
    return psprintf(
        "As the user that runs the server: (umask 077; set -C; openssl rand -hex 16 > %s) Then as "
        "a superuser: %s and connect again.",
        example, setting_line("flakeid.secret_file", example));
}

uint64_t fingerprint_of_key(const SparxKey& key)
{
    return sparx_encrypt(key, UINT64_C(0x666c616b65696421));
}

void load_secret(bool (*used)())
{
    used_before = used;
    const bool has_file = secret_file[0] != '\0';
    forget_secret();
    if (has_file && setting_secret.present) {
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("flakeid.secret and flakeid.secret_file are both set"),
                errhint("Remove one of them; flakeid.secret_file is the recommended way."));
    }
    if (has_file) {
        read_secret_file(secret_file);
        check_file_fingerprints();
    } else if (setting_secret.present) {
        if (!shared_preloaded()) {
            ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                    errmsg("flakeid.secret needs flakeid in shared_preload_libraries"),
                    errdetail("Without it every role can see the secret with SHOW."),
                    errhint("Take the secret out of the configuration and set flakeid.secret_file, "
                            "which needs no preloading, or add flakeid to shared_preload_libraries "
                            "and restart the server."));
        }
        take_key(0, setting_secret.key);
    } else {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("no secret is configured"),
                errdetail("Sealed and enciphered ids need a secret of 16 bytes."),
                errhint("%s", no_secret_hint(used())));
    }
    expanded_secret.loaded = settings.version;
    expanded_secret.settings_version = has_key(0) ? settings.version : 0;
}

void load_key(bool (*used)())
{
    if (expanded_secret.loaded != settings.version) {
        load_secret(used);
    }
    if (!has_key(0)) {
        refuse_file(0, "the secret file holds no key 0",
                    "Enciphered layouts, flake_encrypt() and flake_decrypt() use that key.",
                    "Put it back into the file.");
    }
}

void forget_secret()
{
    wipe(&expanded_secret, sizeof expanded_secret);
}

} // namespace flakeid
