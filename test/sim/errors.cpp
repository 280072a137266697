// Errors, and the memory that a transaction takes.
#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace sim {

PROCESS_LOCAL size_t my_used = 0;
bool (*out_of_memory)() = nullptr;
void (*on_error_report)() = nullptr;

namespace {

constexpr size_t arena_size = 1 << 20;

PROCESS_LOCAL int my_level = 0; // of the error that is being made
char* arenas[most_processes];

} // namespace

} // namespace sim

using namespace sim;

extern "C" {

// Errors
bool errstart(int level, const char*)
{
    my_level = level;
    my_error = 0;
    if (level >= ERROR && CritSectionCount > 0) {
        broken_for_good("an error in a critical section");
    }
    return level >= LOG;
}

bool errstart_cold(int level, const char* domain)
{
    return errstart(level, domain);
}

void errfinish(const char*, int, const char*)
{
    if (my_level < ERROR) {
        if (on_log != nullptr) {
            on_log(here(), my_message);
        }
        return;
    }
    InterruptHoldoffCount = QueryCancelHoldoffCount = 0;
    siglongjmp(*PG_exception_stack, 1);
}

int errcode(int sqlerrcode);
int errcode_for_file_access(void)
{
    return errcode(errno == ENOSPC ? ERRCODE_DISK_FULL : ERRCODE_IO_ERROR);
}

int errcode(int code)
{
    my_error = code;
    return 0;
}

#define WRITE_MESSAGE(format)                                                                      \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        vsnprintf(my_message, sizeof my_message, format, arguments);                               \
        va_end(arguments);                                                                         \
    } while (0)

int errmsg(const char* format, ...)
{
    WRITE_MESSAGE(format);
    return 0;
}

int errmsg_internal(const char* format, ...)
{
    WRITE_MESSAGE(format);
    return 0;
}

int errdetail(const char*, ...)
{
    return 0;
}

int errdetail_log(const char*, ...)
{
    return 0;
}

int errhint(const char*, ...)
{
    return 0;
}

void EmitErrorReport(void)
{
    if (on_error_report != nullptr) {
        on_error_report();
    }
}
void FlushErrorState(void) {}

void FreeErrorData(ErrorData*) {}

ErrorData* CopyErrorData(void)
{
    static ErrorData error;
    error.sqlerrcode = my_error;
    error.message = my_message;
    return &error;
}

void pg_re_throw(void)
{
    siglongjmp(*PG_exception_stack, 1);
}

void pre_format_elog_string(int, const char*) {}

char* format_elog_string(const char* format, ...)
{
    WRITE_MESSAGE(format);
    return my_message;
}

void GUC_check_errcode(int) {}

void ExceptionalCondition(const char* condition, const char*, const char* file, int line)
{
    const char* name = strrchr(file, '/');
    tell("at %s:%d", name == nullptr ? file : name + 1, line);
    broken_for_good("Assert(%s)", condition);
}

// Memory of a process: what it takes it keeps until its transaction ends
void* palloc(Size size)
{
    const int number = running == nullptr ? most_processes - 1 : running->number;
    if (arenas[number] == nullptr) {
        arenas[number] = static_cast<char*>(malloc(arena_size));
    }
    if (out_of_memory != nullptr && out_of_memory()) {
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
    }
    size = (size + 15) / 16 * 16;
    if (my_used + size > arena_size) {
        broken_for_good("a transaction takes more memory than the simulation has");
    }
    void* memory = arenas[number] + my_used;
    my_used += size;
    return memory;
}

void* palloc0(Size size)
{
    return memset(palloc(size), 0, size);
}

void pfree(void*) {}

char* pnstrdup(const char* text, Size length)
{
    length = strnlen(text, length);
    auto* copy = static_cast<char*>(palloc(length + 1));
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char* pstrdup(const char* text)
{
    return pnstrdup(text, strlen(text));
}

char* psprintf(const char* format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return pstrdup(text);
}

int pg_snprintf(char* text, size_t size, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}

// Outlives transactions
char* MemoryContextStrdup(MemoryContext, const char* text)
{
    return strdup(text);
}

void initStringInfo(StringInfo text)
{
    text->maxlen = 4096;
    text->data = static_cast<char*>(palloc0(static_cast<Size>(text->maxlen)));
    text->len = 0;
}

void appendStringInfoChar(StringInfo text, char c)
{
    if (text->len + 1 < text->maxlen) {
        text->data[text->len++] = c;
        text->data[text->len] = '\0';
    }
}

void appendStringInfoString(StringInfo text, const char* more)
{
    for (; *more != '\0'; more++) {
        appendStringInfoChar(text, *more);
    }
}

} // extern "C"
