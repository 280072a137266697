// Files of a server's data directory that WAL does not carry, and who the server is: the functions
// of the C library and of PostgreSQL that get at them. Each is a yield; a write counts once it is
// flushed, and where the server's disk fails it fails.
#include "backend.hpp"

#include "checker.hpp"
#include "core/record.hpp"

extern "C" {
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
}

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {

namespace {

// Of a process; the others are the simulation's own.
constexpr int first_descriptor = 1000;
constexpr int most_descriptors = 8;
struct Descriptor {
    bool open;
    char name[64];
    size_t at;
    int64_t touched; // of a folder
};
PROCESS_LOCAL Descriptor my_descriptors[most_descriptors] = {};
PROCESS_LOCAL int64_t my_date = 0;  // that the process took from the disk last
PROCESS_LOCAL int64_t my_page = -1; // that the process wrote last
constexpr int64_t longest_dating = flakeid::record_lag_ns / 2000;

Descriptor* descriptor(int number)
{
    if (running == nullptr || number < first_descriptor) {
        return nullptr;
    }
    Descriptor& found = my_descriptors[number - first_descriptor];
    return found.open ? &found : nullptr;
}

// The name of a path inside the data directory.
std::string inside(const char* path)
{
    std::string name = path;
    const std::string directory = std::string(DataDir) + "/";
    return name.rfind(directory, 0) == 0 ? name.substr(directory.size()) : name;
}

// The machine has another one whenever it is switched on.
DiskFile* boot_file()
{
    static DiskFile file;
    char text[64];
    snprintf(text, sizeof text, "%08llx-0000-4000-8000-%012llx\n",
             static_cast<unsigned long long>(here().machine),
             static_cast<unsigned long long>(here().booted_us));
    file.bytes = text;
    return &file;
}

DiskFile* find(const std::string& name)
{
    if (name == "/proc/sys/kernel/random/boot_id") {
        return boot_file();
    }
    const auto at = here().now.files.find(name);
    return at == here().now.files.end() ? nullptr : &at->second;
}

// True for the data directory, and for a folder that has files.
bool is_folder(const std::string& name)
{
    const auto& files = here().now.files;
    const auto first = files.lower_bound(name + "/");
    return name == "." || (first != files.end() && first->first.rfind(name + "/", 0) == 0);
}

// A write or a flush that the disk refuses.
bool fails()
{
    yield();
    const int failing = here().failing_writes;
    if (failing > 0 && chance.one_in(failing)) {
        note("the disk fails");
        errno = chance.one_in(2) ? ENOSPC : EIO;
        return true;
    }
    return false;
}

void fill(const DiskFile& file, struct stat* status)
{
    *status = {};
    status->st_ino = file.number;
    status->st_dev = here().machine;
    status->st_mode = S_IFREG | 0600;
    status->st_nlink = 1;
    status->st_size = static_cast<off_t>(file.bytes.size());
    status->st_mtim.tv_sec = file.modified / second;
    status->st_mtim.tv_nsec = file.modified % second * 1000;
    status->st_ctim.tv_sec = file.changed / second;
    status->st_ctim.tv_nsec = file.changed % second * 1000;
}

ssize_t read_at(Descriptor& from, void* to, size_t size, size_t at)
{
    yield();
    const DiskFile* file = find(from.name);
    if (file == nullptr || at >= file->bytes.size()) {
        return 0;
    }
    size = std::min(size, file->bytes.size() - at);
    memcpy(to, file->bytes.data() + at, size);
    return static_cast<ssize_t>(size);
}

// False for a record that counts for nothing, since the repair that came between has written.
bool is_of_latest_fence(const DiskFile& file, const void* from, size_t size)
{
    flakeid::Record written, records[flakeid::record_count] = {};
    memcpy(&written, from, std::min(size, sizeof written));
    memcpy(records, file.bytes.data(), std::min(file.bytes.size(), sizeof records));
    return size < sizeof written || written.head.fence >= fence_of_records(records);
}

ssize_t write_at(Descriptor& to, const void* from, size_t size, size_t at)
{
    if (fails()) {
        return -1;
    }
    DiskFile* file = find(to.name);
    if (file == nullptr) {
        return static_cast<ssize_t>(size); // it was removed
    }
    if (size > flakeid::record_size) {
        if (file->flushed_page == static_cast<int64_t>(at) && here().failing_writes == 0) {
            broken("the page that was flushed last is overwritten");
        }
        my_page = static_cast<int64_t>(at);
    }
    const bool counts = is_of_latest_fence(*file, from, size);
    file->bytes.resize(std::max(file->bytes.size(), at + size));
    memcpy(&file->bytes[at], from, size);
    file->modified = file->changed = wall_clock(here());
    file->other_date = std::abs(file->modified - my_date) > longest_dating || !counts;
    return static_cast<ssize_t>(size);
}

int open_file(const char* path, int flags)
{
    yield();
    const std::string name = inside(path);
    DiskFile* file = find(name);
    if (file != nullptr && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
        errno = EEXIST;
        return -1;
    }
    if (file == nullptr && ((flags & O_CREAT) != 0 || !is_folder(name))) {
        if ((flags & O_CREAT) == 0) {
            errno = ENOENT;
            return -1;
        }
        if (fails()) {
            return -1;
        }
        make_file(here(), here().now, name, "");
        file = find(name);
    }
    if ((flags & O_TRUNC) != 0 && file != nullptr) {
        file->bytes.clear();
    }
    for (int i = 0; i < most_descriptors; i++) {
        Descriptor& place = my_descriptors[i];
        if (!place.open) {
            place = {true, "", 0, 0};
            strlcpy(place.name, name.c_str(), sizeof place.name);
            return first_descriptor + i;
        }
    }
    broken_for_good("a process leaves its files open");
}

int flush_file(Descriptor& of)
{
    sleep_us(flush_time(here()));
    const bool failed = fails();
    DiskFile* file = find(of.name);
    if (failed) {
        if (file != nullptr) {
            file->flushed_page = -1; // nobody knows
        }
        return -1;
    }
    if (file != nullptr) {
        file->flushed = file->bytes;
        file->flushed_page = my_page;
    }
    return 0;
}

} // namespace

void close_files()
{
    for (Descriptor& open : my_descriptors) {
        open.open = false;
    }
}

} // namespace sim

using namespace sim;

extern "C" {

int pg_dir_create_mode = 0700, pg_file_create_mode = 0600;

static char data_directory[] = "/data";
char* DataDir = data_directory;

int __real_stat(const char*, struct stat*);
int __real_fstat(int, struct stat*);
int __real_open(const char*, int, ...);
int __real_close(int);
ssize_t __real_read(int, void*, size_t);
ssize_t __real_write(int, const void*, size_t);
ssize_t __real_pread(int, void*, size_t, off_t);
ssize_t __real_pwrite(int, const void*, size_t, off_t);
int __real_ftruncate(int, off_t);
int __real_futimens(int, const timespec*);
int __real_fsync(int);
int __real_fdatasync(int);
int __real_rename(const char*, const char*);
int __real_unlink(const char*);
int __real_access(const char*, int);
int __real_mkdir(const char*, mode_t);

int __wrap_stat(const char* path, struct stat* status)
{
    if (running == nullptr) {
        return __real_stat(path, status);
    }
    yield();
    const DiskFile* file = find(inside(path));
    if (file == nullptr && is_folder(inside(path))) {
        *status = {};
        status->st_mode = S_IFDIR | 0700;
        return 0;
    }
    if (file == nullptr) {
        errno = ENOENT;
        return -1;
    }
    fill(*file, status);
    return 0;
}

int __wrap_futimens(int number, const timespec* times)
{
    Descriptor* of = descriptor(number);
    if (of == nullptr) {
        return __real_futimens(number, times);
    }
    if (fails()) {
        return -1;
    }
    DiskFile* file = find(of->name);
    my_date = wall_clock(here());
    (file != nullptr ? file->modified : of->touched) = my_date;
    if (file != nullptr) {
        file->changed = file->modified;
    }
    return 0;
}

bool pg_strong_random(void* to, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(chance.below(256));
    }
    return true;
}

int __wrap_access(const char* path, int mode)
{
    if (running == nullptr) {
        return __real_access(path, mode);
    }
    struct stat status;
    return __wrap_stat(path, &status);
}

int __wrap_fstat(int number, struct stat* status)
{
    const Descriptor* of = descriptor(number);
    if (of == nullptr) {
        return __real_fstat(number, status);
    }
    return __wrap_stat(of->name, status);
}

#ifdef STATX_BTIME
int __wrap_statx(int number, const char* path, int, unsigned, struct statx* status)
{
    yield();
    const Descriptor* of = path[0] == '\0' ? descriptor(number) : nullptr;
    const DiskFile* file = find(of != nullptr ? of->name : inside(path));
    if (file == nullptr && of == nullptr) {
        errno = ENOENT;
        return -1;
    }
    DiskFile folder{};
    if (file == nullptr) {
        folder.modified = folder.changed = of->touched;
        file = &folder;
    }
    struct stat plain;
    fill(*file, &plain);
    *status = {};
    status->stx_mask = STATX_BASIC_STATS | STATX_BTIME;
    status->stx_ino = plain.st_ino;
    status->stx_size = static_cast<uint64_t>(plain.st_size);
    status->stx_mode = static_cast<uint16_t>(plain.st_mode);
    status->stx_mtime.tv_sec = plain.st_mtim.tv_sec;
    status->stx_mtime.tv_nsec = static_cast<uint32_t>(plain.st_mtim.tv_nsec);
    status->stx_ctime.tv_sec = plain.st_ctim.tv_sec;
    status->stx_ctime.tv_nsec = static_cast<uint32_t>(plain.st_ctim.tv_nsec);
    status->stx_btime.tv_sec = file->born / second;
    status->stx_btime.tv_nsec = static_cast<uint32_t>(file->born % second * 1000);
    return 0;
}
#endif

int __wrap_open(const char* path, int flags, ...)
{
    if (running != nullptr) {
        return open_file(path, flags);
    }
    va_list arguments;
    va_start(arguments, flags);
    const int mode = va_arg(arguments, int);
    va_end(arguments);
    return __real_open(path, flags, mode);
}

int __wrap_close(int number)
{
    Descriptor* of = descriptor(number);
    if (of == nullptr) {
        return __real_close(number);
    }
    of->open = false;
    return 0;
}

ssize_t __wrap_read(int number, void* to, size_t size)
{
    Descriptor* of = descriptor(number);
    if (of == nullptr) {
        return __real_read(number, to, size);
    }
    const ssize_t got = read_at(*of, to, size, of->at);
    of->at += static_cast<size_t>(std::max<ssize_t>(got, 0));
    return got;
}

ssize_t __wrap_write(int number, const void* from, size_t size)
{
    Descriptor* of = descriptor(number);
    if (of == nullptr) {
        return __real_write(number, from, size);
    }
    const ssize_t put = write_at(*of, from, size, of->at);
    of->at += static_cast<size_t>(std::max<ssize_t>(put, 0));
    return put;
}

ssize_t __wrap_pread(int number, void* to, size_t size, off_t at)
{
    Descriptor* of = descriptor(number);
    return of == nullptr ? __real_pread(number, to, size, at)
                         : read_at(*of, to, size, static_cast<size_t>(at));
}

ssize_t __wrap_pwrite(int number, const void* from, size_t size, off_t at)
{
    Descriptor* of = descriptor(number);
    return of == nullptr ? __real_pwrite(number, from, size, at)
                         : write_at(*of, from, size, static_cast<size_t>(at));
}

int __wrap_ftruncate(int number, off_t size)
{
    Descriptor* of = descriptor(number);
    if (of == nullptr) {
        return __real_ftruncate(number, size);
    }
    DiskFile* file = find(of->name);
    if (fails() || file == nullptr) {
        return -1;
    }
    file->bytes.resize(static_cast<size_t>(size));
    return 0;
}

int __wrap_fsync(int number)
{
    Descriptor* of = descriptor(number);
    return of == nullptr ? __real_fsync(number) : flush_file(*of);
}

int __wrap_fdatasync(int number)
{
    Descriptor* of = descriptor(number);
    return of == nullptr ? __real_fdatasync(number) : flush_file(*of);
}

int __wrap_rename(const char* from, const char* to)
{
    if (running == nullptr) {
        return __real_rename(from, to);
    }
    if (fails()) {
        return -1;
    }
    auto& files = here().now.files;
    const auto at = files.find(inside(from));
    if (at == files.end()) {
        errno = ENOENT;
        return -1;
    }
    DiskFile file = at->second;
    file.changed = wall_clock(here());
    files.erase(at);
    files[inside(to)] = file;
    return 0;
}

int __wrap_unlink(const char* path)
{
    if (running == nullptr) {
        return __real_unlink(path);
    }
    yield();
    if (here().now.files.erase(inside(path)) == 0) {
        errno = ENOENT;
        return -1;
    }
    return 0;
}

int __wrap_mkdir(const char* path, mode_t mode)
{
    if (running == nullptr) {
        return __real_mkdir(path, mode);
    }
    if (is_folder(inside(path))) {
        errno = EEXIST;
        return -1;
    }
    make_file(here(), here().now, inside(path) + "/.", ""); // what makes it one
    return 0;
}

int MakePGDirectory(const char*)
{
    return 0;
}

int BasicOpenFile(const char* path, int flags)
{
    return open_file(path, flags);
}

int OpenTransientFile(const char* path, int flags)
{
    return open_file(path, flags);
}

int OpenTransientFilePerm(const char* path, int flags, mode_t)
{
    return open_file(path, flags);
}

int CloseTransientFile(int number)
{
    return __wrap_close(number);
}

int pg_fsync(int number)
{
    return __wrap_fsync(number);
}

int pg_fdatasync(int number)
{
    return __wrap_fsync(number);
}

void fsync_fname(const char*, bool)
{
    yield();
}

int durable_rename(const char* from, const char* to, int)
{
    DiskFile* file = find(inside(from));
    if (file != nullptr && !fails()) {
        file->flushed = file->bytes;
        return __wrap_rename(from, to);
    }
    return -1;
}

// Who the machine and the cluster are
FILE* AllocateFile(const char* path, const char*)
{
    static char text[64];
    if (strcmp(path, "/etc/machine-id") != 0) {
        errno = ENOENT;
        return nullptr;
    }
    snprintf(text, sizeof text, "%032llx\n", static_cast<unsigned long long>(here().machine));
    return fmemopen(text, strlen(text), "r");
}

int FreeFile(FILE* file)
{
    return fclose(file);
}

uint64 GetSystemIdentifier(void)
{
    return here().now.system;
}

ControlFileData* get_controlfile(const char*, bool* crc_ok)
{
    yield();
    auto* control = static_cast<ControlFileData*>(palloc0(sizeof(ControlFileData)));
    control->system_identifier = here().now.system;
    control->checkPoint = here().now.checkpoint;
    control->checkPointCopy.ThisTimeLineID = static_cast<TimeLineID>(here().now.timeline);
    control->time = here().now.files["global/pg_control"].modified / second;
    *crc_ok = true;
    return control;
}

} // extern "C"
