#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {

Server servers[most_servers];

void acquire(Lock& lock, bool exclusive)
{
    while (lock.exclusive >= 0 || (exclusive && lock.shared > 0)) {
        lock.waiting.push_back(running->number);
        sleep_until(never);
    }
    if (exclusive) {
        lock.exclusive = running->number;
    } else {
        lock.shared++;
    }
}

void release(Lock& lock, bool exclusive)
{
    if (exclusive) {
        lock.exclusive = -1;
    } else {
        lock.shared--;
    }
    for (int number : lock.waiting) {
        wake_number(number);
    }
    lock.waiting.clear();
}

// ---- Clocks

int64_t wall_clock(const Server& server)
{
    return server.clock.still_at >= 0 ? server.clock.still_at
                                      : true_epoch_us + true_us + server.clock.offset;
}

int64_t flush_time(const Server& server)
{
    return server.fastest_flush + chance.below(server.slowest_flush - server.fastest_flush);
}

int64_t steady_clock(const Server& server)
{
    return true_us - server.booted_us + minute;
}

// ---- Directories

namespace {

void apply(Directory& directory, const WalRecord& record)
{
    DatabaseFiles& database = directory.databases[record.database];
    switch (record.kind) {
    case WalKind::page:
        for (StateFile& file : database.files) {
            if (file.number == record.file.number) {
                file = record.file;
                return;
            }
        }
        for (StateFile& file : database.files) {
            if (file.number != database.current) { // free, or of a transaction that was aborted
                file = record.file;
                return;
            }
        }
        return;
    case WalKind::catalog:
        for (StateFile& file : database.files) {
            if (file.number != record.current) {
                file = StateFile{};
            }
        }
        database.current = record.current;
        return;
    case WalKind::commit:
        return;
    }
}

} // namespace

Directory replayed(const Server& server, uint64_t lsn)
{
    Directory directory = server.base;
    directory.files = server.now.files;
    directory.next_xid = server.now.next_xid;
    directory.next_file = server.now.next_file;
    directory.prepared = server.now.prepared;
    for (const WalRecord& record : server.wal) {
        if (record.lsn <= lsn) {
            apply(directory, record);
        }
    }
    return directory;
}

Directory crashed(const Server& server)
{
    const auto unflushed = static_cast<int64_t>(server.inserted - server.flushed);
    return replayed(server, server.flushed + static_cast<uint64_t>(chance.below(unflushed + 1)));
}

void lose_power(Directory& directory)
{
    constexpr size_t sector = 512;
    for (auto& [name, file] : directory.files) {
        std::string left = file.flushed;
        left.resize(std::max(left.size(), file.bytes.size()));
        file.bytes.resize(left.size());
        for (size_t at = 0; at < left.size(); at += sector) {
            if (file.bytes.compare(at, sector, left, at, sector) != 0 && chance.one_in(2)) {
                const size_t whole = chance.one_in(8) ? sector / 2 : sector;
                left.replace(at, whole, file.bytes, at, whole);
                file.torn = file.torn || whole < sector;
            }
        }
        file.other_date = file.other_date || left != file.bytes;
        file.bytes = file.flushed = left;
    }
}

Directory flushed(const Server& server)
{
    return replayed(server, server.flushed);
}

Directory standby_at(const Server& server, int64_t at)
{
    uint64_t lsn = 0;
    for (const WalRecord& record : server.wal) {
        if (record.lsn <= server.flushed && record.flushed_at <= at) {
            lsn = record.lsn;
        }
    }
    return replayed(server, lsn);
}

uint64_t new_system(const Server& server)
{
    return static_cast<uint64_t>(wall_clock(server) / second) << 32 | (chance.next() & UINT32_MAX);
}

void make_file(Server& server, Directory& directory, const std::string& name,
               const std::string& bytes)
{
    const int64_t now = wall_clock(server);
    directory.files[name] = {server.next_inode++, now, now, now, bytes, bytes};
}

Directory copied(Server& to, const Directory& from)
{
    Directory copy = from;
    for (auto& [name, file] : copy.files) {
        const int64_t modified = file.modified;
        make_file(to, copy, name, file.bytes);
        copy.files[name].modified = modified;
    }
    return copy;
}

Directory synchronised(Server& to, const Directory& there, const Directory& from, bool in_place)
{
    Directory result = copied(to, from);
    for (auto& [name, file] : result.files) {
        const auto before = there.files.find(name);
        if (before == there.files.end()) {
            continue;
        }
        const bool same =
            before->second.bytes == file.bytes && before->second.modified == file.modified;
        if (same) {
            file = before->second;
        } else if (in_place) {
            file.number = before->second.number;
            file.born = before->second.born;
        }
    }
    return result;
}

Oid oid_of(const Directory& directory, int database)
{
    return first_database + static_cast<Oid>(database) +
           most_databases * directory.databases[database].dropped;
}

StateFile current_file(const DatabaseFiles& database)
{
    for (const StateFile& file : database.files) {
        if (file.number == database.current) {
            return file;
        }
    }
    return {};
}

flakeid::Durable durable_of(const StateFile& file)
{
    flakeid::Durable durable{};
    if (file.has_row) {
        memcpy(&durable, file.row, sizeof durable);
    }
    return durable;
}

void set_durable(StateFile& file, flakeid::Durable durable)
{
    durable.check = static_cast<int64_t>(flakeid::durable_check(durable));
    file.has_row = true;
    memcpy(file.row, &durable, sizeof durable);
}

// ---- Memory

void* take_memory(Server& server, size_t size)
{
    const auto spare = server.spare_memory.find(size);
    void* memory;
    if (spare != server.spare_memory.end()) {
        memory = spare->second;
        server.spare_memory.erase(spare);
    } else {
        memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    }
    server.memory_sizes[memory] = size;
    return memory;
}

namespace {

void give_memory(Server& server, void* memory)
{
    server.spare_memory.insert({server.memory_sizes[memory], memory});
}

// ---- Life of a server

void postmaster()
{
    become_backend(most_backends - 1, 0, {});
    Server& server = here();
    process_shared_preload_libraries_in_progress = true;
    load_library();
    process_shared_preload_libraries_in_progress = false;
    if (shmem_request_hook != nullptr) {
        shmem_request_hook();
    }
    if (shmem_startup_hook != nullptr) {
        shmem_startup_hook();
    }
    end_backend();
    server.image = take_image();
}

} // namespace

void start_server(Server& server, const Directory& directory)
{
    Assert(!server.up);
    server.up = true;
    server.panicked = false;
    server.life++;
    server.base = server.now = directory;
    for (auto& [name, file] : server.now.files) {
        file.unsure = file.other_date || file.torn;
        file.flushed = file.bytes; // SyncDataDirectory()
        file.flushed_page = -1;
    }
    server.wal.clear();
    server.flushed = server.inserted;
    for (int i = 0; i < most_databases; i++) {
        server.flushed_rows[i] = current_file(directory.databases[i]);
    }
    server.in_recovery = false;
    memset(server.lwlocks, 0, sizeof server.lwlocks);
    for (Lock& lock : server.locks) {
        lock = Lock{};
    }
    memset(server.procs, 0, sizeof server.procs);
    server.proc_header = PROC_HDR{};
    server.proc_header.allProcs = server.procs;
    server.variables = VariableCacheData{};
    server.now.next_xid += 100;
    server.start_us = wall_clock(server);
    server.variables.latestCompletedXid = FullTransactionIdFromU64(server.now.next_xid - 1);
    server.running_xids.clear();
    server.ended_xids = 0;
    for (Replacing& replacing : server.replacing) {
        replacing = Replacing{};
    }
    for (size_t i = 0; i < server.now.prepared.size(); i++) {
        Prepared& prepared = server.now.prepared[i];
        prepared.ending = false;
        PGPROC& proc = server.procs[most_backends + i];
        proc.xid = static_cast<TransactionId>(prepared.xid);
        proc.databaseId = oid_of(server.now, prepared.database);
        server.running_xids.insert(prepared.xid);
    }
    make_pages(server);
    for (Lock& lock : server.relation_locks) {
        lock = Lock{};
    }
    server.image = pristine;
    if (server.preload) {
        Process& process = spawn(server, "postmaster", postmaster, pristine, true_us);
        while (process.alive) {
            run(process);
            true_us = std::max(true_us, std::min(process.wakes_at, true_us + second));
        }
    }
}

void stop_server(Server& server)
{
    kill_all_of(server);
    for (const auto& [name, memory] : server.memory) {
        give_memory(server, memory);
    }
    server.memory.clear();
    for (void* segment : server.segments) {
        give_memory(server, segment);
    }
    server.segments.clear();
    server.up = false;
}

} // namespace sim
