#include "leases/holder/lease_file.hpp"

#include "durable/records.hpp"
#include "durable/server_file.hpp"
#include "durable/server_horizon.hpp"
#include "server/clock.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

namespace {

constexpr uint64_t page_format = 3;
constexpr int page_records = record_count / 2; // the file is two pages
constexpr int record_leases = max_leases / page_records;

// Who wrote a page. No two servers that may both run are the same.
struct Writer {
    uint64_t system; // identifier
    Origin origin;
    DiskPlace place;
};
static_assert(std::has_unique_object_representations_v<Writer>);

constexpr size_t filed_size = offsetof(FiledLease, nodes) + sizeof(FiledLease::nodes);

struct RecordOfLeases {
    Writer writer;
    Term known;
    uint64_t realm;                                  // hash of its name
    unsigned char leases[record_leases][filed_size]; // FiledLease without what pads it
};
static_assert(sizeof(RecordOfLeases) <= record_body_size);

struct LeaseFile {
    uint64_t realm; // hash of its name
    Term known;
    FiledLease filed[max_leases];
    FiledLease found[max_leases]; // that nothing came of yet
    uint64_t fence;               // of the page that was written last
    int newest;                   // page that was flushed last; -1: neither is this server's own
    int64_t stamped_us;
    uint64_t other_format; // of a page that a later library wrote last; 0: none
    bool says;             // the file may say something that a server would go on in
    bool behind;           // it does not say all that is kept
};
static_assert(is_plain<Writer, RecordOfLeases, LeaseFile>);
LeaseFile file;

// Sets who the server is. False while no horizon says so: the first id makes it.
bool read_writer(Writer* writer)
{
    if (disk_place(server_file, &writer->place) != 0) {
        return false;
    }
    writer->system = GetSystemIdentifier();
    writer->origin = server_origin(true);
    return true;
}

bool same_directory(const Writer& a, const Writer& b)
{
    return a.system == b.system && same_origin(a.origin, b.origin);
}

bool same_writer(const Writer& a, const Writer& b)
{
    return memcmp(&a, &b, sizeof a) == 0 && a.place.boot[0] != '\0';
}

// Tells whether all records of a page are of one write.
bool is_whole(const Record* page)
{
    for (int i = 0; i < page_records; i++) {
        if (!is_sealed(page[i]) || page[i].head.format != page_format ||
            page[i].head.fence != page[0].head.fence) {
            return false;
        }
    }
    return true;
}

// Returns the format of what was written last, where it is not this library's; 0: it is.
uint64_t other_format(const Record (&records)[record_count], uint64_t fence)
{
    for (const Record& record : records) {
        if (is_sealed(record) && record.head.fence == fence && record.head.format != page_format) {
            return record.head.format;
        }
    }
    return 0;
}

RecordOfLeases body_of(const Record& record)
{
    RecordOfLeases body;
    memcpy(&body, record.body, sizeof body);
    return body;
}

bool is_free(const FiledLease& filed)
{
    return filed.length_s == 0;
}

bool is_given_back(const FiledLease& filed)
{
    return filed.length_s == given_back_length;
}

// A token that was found, and that no answer is known to, stays until its lease is wanted again.
void add_unanswered(FiledLease (&filed)[max_leases])
{
    FiledLease* free = filed;
    FiledLease* const end = filed + max_leases;
    for (const FiledLease& found : file.found) {
        free = std::find_if(free, end, is_free);
        if (found.length_s == asked_length && free != end) {
            *free = found;
        }
    }
}

int put_page(int page, const Writer& writer)
{
    FiledLease filed[max_leases];
    memcpy(filed, file.filed, sizeof filed);
    add_unanswered(filed);
    Record records[page_records] = {};
    file.fence++;
    for (int i = 0; i < page_records; i++) {
        RecordOfLeases body{};
        body.writer = writer;
        body.known = file.known;
        body.realm = file.realm;
        for (int k = 0; k < record_leases; k++) {
            memcpy(body.leases[k], &filed[i * record_leases + k], filed_size);
        }
        records[i].head.format = page_format;
        records[i].head.fence = file.fence;
        memcpy(records[i].body, &body, sizeof body);
    }
    return records_put(lease_file, page * page_records, records, page_records);
}

int write(const Writer& writer)
{
    const int page = file.newest == 0 ? 1 : 0;
    file.says = true;
    int result = put_page(page, writer);
    if (result == ENOENT) {
        file.newest = -1;
        result = disk_make(lease_file, records_size);
        result = result != 0 ? result : put_page(page, writer);
    }
    if (result == 0 && file.newest < 0) {
        result = put_page(1 - page, writer);
    }
    result = result != 0 ? result : disk_flush(lease_file);
    if (result == 0) {
        file.newest = file.newest < 0 ? 1 - page : page;
    }
    return result;
}

bool is_for(const FiledLease& filed, const Lease* lease)
{
    return !is_free(filed) && !is_given_back(filed) && filed.wanted == lease->wanted &&
           (filed.wanted != any_node || filed.max_node == lease->max_node);
}

// Takes what was found of a lease. False when there is nothing.
bool take_found(const Lease* lease, FiledLease* filed)
{
    for (FiledLease& found : file.found) {
        if (is_for(found, lease)) {
            *filed = found;
            found = FiledLease{};
            return true;
        }
    }
    return false;
}

// Once for each trouble.
void tell(int error)
{
    LeaseTable* table = shared_leases();
    const int before = locked(LW_EXCLUSIVE, [&] {
        const int told = table->file_error;
        table->file_error = error;
        return told;
    });
    if (error != 0 && error != before) {
        errno = error;
        ereport(LOG, errcode_for_file_access(),
                errmsg("could not write file \"%s\": %m", shown_lease_file),
                errdetail("It keeps leases for the next start of the server. Ids go on; after a "
                          "crash the server has to take new leases."));
    }
}

} // namespace

Grant grant_of(const FiledLease& filed)
{
    Grant grant;
    grant.node = filed.node;
    grant.nodes = filed.nodes;
    memcpy(grant.token, filed.token, sizeof grant.token);
    grant.start_us = filed.start_us;
    grant.end_us = filed.start_us + filed.length_s * us_per_s;
    return grant;
}

void lease_file_read(const char* realm, Term* known)
{
    memset(&file, 0, sizeof file);
    file.realm = hash_bytes_extended(reinterpret_cast<const unsigned char*>(realm),
                                     static_cast<int>(strlen(realm)), 0);
    lease_file_know(*known);
    Record records[record_count];
    FileFacts facts{};
    const int result = disk_read(lease_file, records, sizeof records, &facts);
    file.newest = -1;
    file.says = result != 0 && result != ENOENT;
    file.fence = result == 0 ? fence_of_records(records) : 0;
    file.other_format = result == 0 ? other_format(records, file.fence) : 0;
    Writer writer;
    if (file.other_format != 0 || !read_writer(&writer)) {
        return;
    }
    const Floors floors = server_floors();
    file.stamped_us =
        std::max(stamp_us(floors.stamp[plain_horizon]), stamp_us(floors.stamp[back_horizon]));
    int newest = -1;
    for (int page = 0; result == 0 && page < 2; page++) {
        const Record* found = &records[page * page_records];
        if (is_whole(found) &&
            // same with >=: no two pages have one fence
            (newest < 0 || found->head.fence > records[newest * page_records].head.fence)) {
            newest = page;
        }
    }
    if (newest < 0) {
        return;
    }
    const Record* page = &records[newest * page_records];
    const RecordOfLeases first = body_of(page[0]);
    // same with >=: those of one number are the same
    if (same_directory(first.writer, writer) && first.known.number > known->number) {
        *known = file.known = first.known;
    }
    if (!own_records(records, facts) || !same_writer(first.writer, writer)) {
        return;
    }
    file.newest = newest;
    file.says = true;
    for (int i = 0; i < page_records && first.realm == file.realm; i++) {
        const RecordOfLeases body = body_of(page[i]);
        for (int k = 0; k < record_leases; k++) {
            memcpy(&file.found[i * record_leases + k], body.leases[k], filed_size);
        }
    }
}

int64_t lease_file_stamped_us()
{
    return file.stamped_us;
}

const FiledLease& lease_file_found(int number)
{
    return file.found[number];
}

const char* lease_file_problem()
{
    return file.other_format == 0 ? nullptr
                                  : psprintf("File \"%s\" is of format " UINT64_FORMAT
                                             ", and this library knows format " UINT64_FORMAT,
                                             shown_lease_file, file.other_format, page_format);
}

bool lease_file_write()
{
    Writer writer;
    if (file.other_format != 0) {
        return true; // it is kept for the library that wrote it
    }
    if (file.behind && read_writer(&writer)) {
        const int result = write(writer);
        tell(result);
        file.behind = result != 0;
    }
    return !file.behind;
}

void lease_file_know(const Term& known)
{
    file.behind = file.behind || memcmp(&file.known, &known, sizeof known) != 0;
    file.known = known;
}

void lease_file_put(int place, const Lease* lease)
{
    FiledLease& filed = file.filed[place];
    (void)take_found(lease, &filed);
    filed.wanted = lease->wanted;
    filed.max_node = lease->max_node;
    filed.node = lease->node;
    filed.nodes = lease->nodes;
    memcpy(filed.token, lease->token, sizeof filed.token);
    filed.start_us = lease->start_us;
    filed.length_s = static_cast<int32_t>((lease->last_end_us - lease->start_us) / us_per_s);
    file.behind = true;
}

const unsigned char* lease_file_ask(int place, const Lease* lease, bool* again)
{
    FiledLease& filed = file.filed[place];
    *again = is_for(filed, lease);
    if (*again) {
        return filed.token;
    }
    *again = take_found(lease, &filed);
    if (!*again) {
        filed = FiledLease{};
        filed.wanted = lease->wanted;
        filed.max_node = lease->max_node;
        filed.length_s = asked_length;
        if (!pg_strong_random(filed.token, sizeof filed.token)) {
            filed.length_s = 0;
            ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR),
                    errmsg("could not make a random number"));
        }
        filed.token[6] =
            static_cast<unsigned char>((filed.token[6] & 0x0f) | 0x40); // a random uuid
        filed.token[8] = static_cast<unsigned char>((filed.token[8] & 0x3f) | 0x80);
    }
    file.behind = true;
    (void)lease_file_write();
    return filed.token;
}

void lease_file_forget(int place)
{
    file.filed[place] = FiledLease{};
    file.behind = true;
}

bool lease_file_give_back(const int64_t (&last_us)[max_leases])
{
    FiledLease before[max_leases];
    memcpy(before, file.filed, sizeof before);
    for (int i = 0; i < max_leases; i++) {
        if (last_us[i] != 0) {
            lease_file_put(i, &shared_leases()->leases[i]);
            file.filed[i].start_us = last_us[i];
            file.filed[i].length_s = given_back_length;
        }
    }
    file.behind = true;
    if (!file.says || lease_file_write()) {
        return true;
    }
    memcpy(file.filed, before, sizeof before);
    return false;
}

void lease_file_put_given_back()
{
    int place = 0;
    for (const FiledLease& found : file.found) {
        // same with <=: nothing comes of it
        while (place < max_leases && !is_free(file.filed[place])) {
            place++;
        }
        // same with <=: only after a disk that failed
        if (is_given_back(found) && place < max_leases && !lease_drew(found.node, found.nodes)) {
            file.filed[place] = found;
            file.filed[place].start_us = std::max(found.start_us, file.stamped_us);
        }
        file.behind = file.behind || is_given_back(found);
    }
}

uint64_t lease_file_writer()
{
    Writer writer;
    return read_writer(&writer)
               ? hash_bytes_extended(reinterpret_cast<const unsigned char*>(&writer), sizeof writer,
                                     0)
               : 0;
}

bool lease_file_make_room(int place, uint32_t wanted)
{
    FiledLease* const end = file.filed + max_leases;
    auto refuses = [&](const FiledLease& filed) {
        return is_given_back(filed) && filed.wanted == wanted && wanted != any_node;
    };
    if (std::any_of(file.filed, end, refuses)) {
        return false;
    }
    if (!is_given_back(file.filed[place])) {
        return true;
    }
    FiledLease* const free = std::find_if(file.filed, end, is_free);
    if (free == end) {
        return false;
    }
    std::swap(file.filed[place], *free);
    file.behind = true;
    return true;
}

const FiledLease* lease_file_given_back(int place)
{
    const FiledLease& filed = file.filed[place];
    return is_given_back(filed) ? &filed : nullptr;
}

} // namespace flakeid
