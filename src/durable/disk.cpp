#include "durable/disk.hpp"

#include "server/postgres.hpp"

extern "C" {
#include "common/file_perm.h"
}

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flakeid {

namespace {

constexpr char folder[] = "flakeid"; // in the data directory, where every session is
constexpr char boot_file[] = "/proc/sys/kernel/random/boot_id";
constexpr int64_t ns_per_s = INT64_C(1000) * 1000 * 1000;

struct Path {
    char text[MAXPGPATH];
};
static_assert(is_plain<Path>);

Path path_of(const char* file)
{
    Path path{};
    Assert(sizeof folder + strlen(file) < sizeof path.text);
    strcpy(path.text, folder);
    strcat(path.text, "/");
    strcat(path.text, file);
    return path;
}

// Lets `work` work on the open file; its result, or why the file cannot be opened.
template <typename Work>
int with_file(const char* path, int flags, Work work)
{
    const int fd = open(path, flags | O_CLOEXEC, pg_file_create_mode);
    if (fd < 0) {
        return errno;
    }
    const int result = work(fd);
    close(fd);
    return result;
}

int result_of(int returned)
{
    return returned == 0 ? 0 : errno;
}

int flush_folder(const char* path)
{
    const int result = with_file(path, O_RDONLY, [](int fd) { return result_of(pg_fsync(fd)); });
    return result == EINVAL || result == EBADF ? 0 : result; // a file system that cannot
}

#ifdef STATX_BTIME
int64_t ns_of(const statx_timestamp& time)
{
    return time.tv_sec * ns_per_s + time.tv_nsec;
}
#endif

int facts_of(int fd, FileFacts* facts)
{
#ifdef STATX_BTIME
    struct statx status {};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) == 0) {
        *facts = {status.stx_ino,
                  (status.stx_mask & STATX_BTIME) != 0 ? ns_of(status.stx_btime) : 0,
                  ns_of(status.stx_mtime), ns_of(status.stx_ctime)};
        return 0;
    }
#endif
    struct stat plain {};
    if (fstat(fd, &plain) != 0) {
        return errno;
    }
#ifdef __APPLE__
    const timespec modified = plain.st_mtimespec, changed = plain.st_ctimespec;
#else
    const timespec modified = plain.st_mtim, changed = plain.st_ctim;
#endif
    *facts = {plain.st_ino, 0, modified.tv_sec * ns_per_s + modified.tv_nsec,
              changed.tv_sec * ns_per_s + changed.tv_nsec};
    return 0;
}

} // namespace

int disk_make(const char* file, size_t size)
{
    if (mkdir(folder, static_cast<mode_t>(pg_dir_create_mode)) != 0 && errno != EEXIST) {
        return errno;
    }
    int result = with_file(path_of(file).text, O_RDWR | O_CREAT, [&](int fd) {
        const int cut = result_of(ftruncate(fd, static_cast<off_t>(size)));
        return cut != 0 ? cut : result_of(pg_fsync(fd));
    });
    for (const char* path : {folder, "."}) {
        result = result != 0 ? result : flush_folder(path);
    }
    return result;
}

int disk_lose(const char* file)
{
    if (mkdir(folder, static_cast<mode_t>(pg_dir_create_mode)) != 0 && errno != EEXIST) {
        return errno;
    }
    int result = unlink(path_of(file).text) == 0 || errno == ENOENT ? 0 : errno;
    for (const char* path : {folder, "."}) {
        result = result != 0 ? result : flush_folder(path);
    }
    return result;
}

bool disk_used()
{
    struct stat status {};
    return stat(folder, &status) == 0;
}

bool disk_is_upgraded()
{
    struct stat status {};
    return stat("pg_upgrade_output.d", &status) == 0;
}

int disk_read(const char* file, void* to, size_t size, FileFacts* facts)
{
    memset(to, 0, size);
    return with_file(path_of(file).text, O_RDONLY, [&](int fd) {
        for (size_t at = 0; at < size;) {
            const ssize_t got =
                pread(fd, static_cast<char*>(to) + at, size - at, static_cast<off_t>(at));
            if (got < 0 && errno != EINTR) {
                return errno;
            }
            if (got == 0) {
                break;
            }
            at += got > 0 ? static_cast<size_t>(got) : 0;
        }
        return facts_of(fd, facts);
    });
}

int disk_facts(const char* file, FileFacts* facts)
{
    return with_file(path_of(file).text, O_RDONLY, [&](int fd) { return facts_of(fd, facts); });
}

int disk_place(const char* file, DiskPlace* place)
{
    *place = {};
    (void)with_file(boot_file, O_RDONLY, [&](int fd) {
        return static_cast<int>(read(fd, place->boot, sizeof place->boot - 1));
    });
    return with_file(path_of(file).text, O_RDONLY, [&](int fd) {
        struct stat status {};
        const int result = result_of(fstat(fd, &status));
        place->device = status.st_dev;
        return result;
    });
}

int disk_clock(int64_t* now_ns)
{
    return with_file(folder, O_RDONLY, [&](int fd) {
        FileFacts facts{};
        int result = result_of(futimens(fd, nullptr));
        result = result != 0 ? result : facts_of(fd, &facts);
        *now_ns = facts.changed_ns; // nobody sets that one
        return result;
    });
}

int disk_write(const char* file, size_t at, const void* from, size_t size)
{
    return with_file(path_of(file).text, O_RDWR, [&](int fd) {
        ssize_t done;
        do {
            errno = ENOSPC; // unless the kernel says otherwise
            done = pwrite(fd, from, size, static_cast<off_t>(at));
        } while (done < 0 && errno == EINTR);
        return done == static_cast<ssize_t>(size) ? 0 : errno;
    });
}

int disk_flush(const char* file)
{
    return with_file(path_of(file).text, O_RDWR, [](int fd) { return result_of(pg_fsync(fd)); });
}

} // namespace flakeid
