// What a coordinator of leases may say: the client connects through libpq to a server that the
// input plays, and asks for its schema, a lease, a renewal and a release. Whatever the server says,
// what is believed is what was asked for, and all that is kept of the rest is one plain line.
#include "../../src/leases/remote/coordinator.hpp"

#include "check.hpp"

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace flakeid;

namespace {

constexpr char good_token[] = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
constexpr char realm[] = "00000000-0000-4000-8000-000000000001";
constexpr char row_columns = 8;

struct Input {
    const uint8_t* at;
    size_t left;

    bool empty() const { return left == 0; }
    uint8_t byte()
    {
        if (left == 0) {
            return 0;
        }
        left--;
        return *at++;
    }
    std::string bytes(size_t count)
    {
        const size_t taken = count < left ? count : left;
        std::string text(reinterpret_cast<const char*>(at), taken);
        at += taken;
        left -= taken;
        return text;
    }
};

Input input;
Steady now = steady_past;
int listener = -1;
int peer = -1;
std::string directory;

std::string number(uint32_t value, int size)
{
    std::string bytes;
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
        bytes += static_cast<char>(value >> shift);
    }
    return bytes;
}

std::string message(char type, const std::string& body)
{
    return type + number(static_cast<uint32_t>(body.size() + 4), 4) + body;
}

std::string description(int columns, int format)
{
    std::string body = number(static_cast<uint32_t>(columns), 2);
    for (int i = 0; i < columns; i++) {
        body += std::string("f") + '\0' + number(0, 4) + number(0, 2) + number(25, 4) +
                number(0xffff, 2) + number(0xffffffff, 4) +
                number(static_cast<uint32_t>(format), 2);
    }
    return message('T', body);
}

std::string field(const std::string& text)
{
    return number(static_cast<uint32_t>(text.size()), 4) + text;
}

std::string row(int columns, const std::string& fields)
{
    return message('D', number(static_cast<uint32_t>(columns), 2) + fields);
}

const std::string begin = message('1', "") + message('2', "");
const std::string end = message('C', std::string("SELECT 1") + '\0') + message('Z', "I");

// Any number of fields of any bytes; one in eight is null.
std::string any_fields(int columns)
{
    std::string fields;
    for (int i = 0; i < columns; i++) {
        const uint8_t length = input.byte();
        fields += length % 8 == 7 ? number(0xffffffff, 4) : field(input.bytes(length % 64));
    }
    return fields;
}

// What a coordinator says to a question, with one field of four the input's at times.
std::string answer_to(const std::string& question)
{
    if (question.find("pg_extension") != std::string::npos) {
        return begin + description(1, 0) + row(1, field("flakeid.lease_")) + end;
    }
    if (question.find("lease_acquire(") != std::string::npos) {
        std::string fields[] = {"7", good_token, "1700000000", "1700000060", "1", realm, "5", "1"};
        const uint8_t spoilt = input.byte() % (row_columns + 1);
        if (spoilt < row_columns) {
            fields[spoilt] = input.bytes(input.byte() % 48);
        }
        std::string all;
        for (const std::string& text : fields) {
            all += field(text);
        }
        return begin + description(row_columns, 0) + row(row_columns, all) + end;
    }
    if (question.find("lease_renew") != std::string::npos) {
        return begin + description(4, 0) +
               row(4, field("1700000120") + field(realm) + field("5") + field("1")) + end;
    }
    if (question.find("lease_release") != std::string::npos) {
        return begin + description(1, 0) + row(1, field("1700000120")) + end;
    }
    return message('R', number(0, 4)) + message('Z', "I");
}

enum Says { answers, any_row, any_rows, fails, any_bytes, any_message, hangs_up, is_silent, ways };

// The next thing that the server says; empty when it is silent for good.
std::string next(const std::string& question)
{
    switch (static_cast<Says>(input.byte() % ways)) {
    case answers:
        return answer_to(question);
    case any_row: {
        const uint8_t shape = input.byte();
        const int columns = shape % 9;
        return begin + description(columns, shape >> 7) + row(columns, any_fields(columns)) + end;
    }
    case any_rows: {
        const uint8_t shape = input.byte();
        std::string rows;
        for (int i = shape % 4; i > 0; i--) {
            const int columns = input.byte() % 9;
            rows += row(columns, any_fields(columns));
        }
        return begin + description(shape / 4 % 9, 0) + rows + end;
    }
    case fails:
        return message('E', std::string("SERROR") + '\0' + "C55006" + '\0' + 'M' +
                                input.bytes(input.byte()) + '\0' + 'D' + input.bytes(input.byte()) +
                                '\0' + '\0') +
               message('Z', "I");
    case any_bytes:
        return input.bytes(input.byte()) + '\0';
    case any_message: {
        const auto type = static_cast<char>(input.byte());
        return message(type, input.bytes(input.byte()));
    }
    case hangs_up:
        close(peer);
        peer = -1;
        return "";
    default:
        return "";
    }
}

Steady fake_now()
{
    return now;
}

// The client waits, so the server reads and speaks.
Ready fake_wait(int socket, bool to_read, bool, Steady until, bool)
{
    if (peer < 0) {
        peer = accept(listener, nullptr, nullptr);
    }
    char question[4096];
    const ssize_t length = peer < 0 ? 0 : recv(peer, question, sizeof question, MSG_DONTWAIT);
    if (!to_read) {
        return Ready::yes;
    }
    if (!input.empty()) {
        const std::string said =
            next(std::string(question, length > 0 ? static_cast<size_t>(length) : 0));
        if (peer < 0) {
            return Ready::yes;
        }
        if (!said.empty() &&
            send(peer, said.data(), said.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
            return Ready::yes;
        }
    }
    (void)socket;
    now = until;
    return Ready::late;
}

constexpr Waiter waiter = {fake_now, fake_wait, [] { return false; }};

void listen_once()
{
    char name[] = "/tmp/fuzz.XXXXXX";
    FUZZ_CHECK(mkdtemp(name) != nullptr);
    directory = name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.1", name);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    FUZZ_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    FUZZ_CHECK(listen(listener, 64) == 0);
    atexit([] {
        unlink((directory + "/.s.PGSQL.1").c_str());
        rmdir(directory.c_str());
    });
}

void check_trouble(const Coordinator& c)
{
    FUZZ_CHECK(c.trouble != Trouble::none && c.trouble != Trouble::interrupted);
    const size_t length = strlen(c.text);
    FUZZ_CHECK(length < sizeof c.text);
    for (size_t i = 0; i < length; i++) {
        FUZZ_CHECK(c.text[i] >= ' ' && c.text[i] <= '~');
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (listener < 0) {
        listen_once();
    }
    input = Input{data, size};
    now = steady_past;
    const std::string conninfo =
        "host=" + directory + " port=1 user=u dbname=d sslmode=disable gssencmode=disable";
    Coordinator c{};
    c.waiter = &waiter;
    c.conninfo = conninfo.c_str();
    c.stop = steady_never;
    const Wish wish = {input.byte() % 2 == 0,
                       7,
                       60,
                       {0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11, 0xb4, 0x2d, 0x00, 0xcf,
                        0x4f, 0xc9, 0x64, 0xff},
                       false,
                       0};
    Grant grant{};
    bool held = false;
    while (!input.empty()) {
        const bool open = coordinator_connect(c);
        FUZZ_CHECK(open == (c.connection != nullptr) || !open);
        if (!open) {
            check_trouble(c);
            break;
        }
        if (!held) {
            held = coordinator_acquire(c, "default", "fuzz", wish, &grant);
            if (!held) {
                check_trouble(c);
                continue;
            }
            FUZZ_CHECK(grant.nodes > 0);
            FUZZ_CHECK(wish.any ? grant.node + grant.nodes - 1 <= wish.node
                                : grant.node == wish.node);
            FUZZ_CHECK(grant.start_us >= 0 && grant.start_us < grant.end_us);
            FUZZ_CHECK(grant.end_us - grant.start_us <= INT64_C(61000000));
            FUZZ_CHECK(grant.start_us % 1000000 == 0 && grant.end_us % 1000000 == 0);
            continue;
        }
        int64_t end_us;
        if (coordinator_renew(c, "default", grant, 60, &end_us)) {
            FUZZ_CHECK(end_us > grant.start_us);
        } else {
            check_trouble(c);
        }
        if (c.connection != nullptr &&
            !coordinator_release(c, "default", grant.token, grant.start_us)) {
            check_trouble(c);
        }
        held = false;
    }
    coordinator_disconnect(c);
    if (peer >= 0) {
        close(peer);
        peer = -1;
    }
    // What was connected and never waited for.
    for (int left = accept(listener, nullptr, nullptr); left >= 0;
         left = accept(listener, nullptr, nullptr)) {
        close(left);
    }
    return 0;
}
