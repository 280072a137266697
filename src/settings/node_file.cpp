#include "settings/node_file.hpp"

#include "server/messages.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flakeid {

NodeFile read_node_file(const char* path)
{
    NodeFile file{};
    auto refuse = [&](const char* what, const char* hint) {
        file.problem = psprintf("flakeid.node is a file, and \"%s\" %s.", path, what);
        file.hint = hint;
        return file;
    };
    const char* put = "Put the number into a file that the user that runs the server can read, or "
                      "correct flakeid.node.";
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return refuse(psprintf("cannot be opened: %m"), put);
    }
    struct stat status;
    ssize_t length = -1;
    const bool known = fstat(descriptor, &status) == 0;
    if (known && S_ISREG(status.st_mode)) {
        length = read(descriptor, file.text, sizeof file.text);
    }
    const int read_error = errno;
    close(descriptor);
    if (known && !S_ISREG(status.st_mode)) {
        return refuse("is not a regular file", put);
    }
    if (length < 0) {
        errno = read_error;
        return refuse(psprintf("cannot be read: %m"), put);
    }
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        return refuse("belongs to neither the user that runs the server nor root",
                      "Whoever writes there decides which ids this server makes: have the file "
                      "belong to one of the two.");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return refuse(
            "can be written by its group or by others",
            psprintf("If it is the file that you mean, run: chmod go-w %s", shell_word(path)));
    }
    if (length == sizeof file.text) {
        length = 0; // too long for any number
    }
    if (length > 0 && file.text[length - 1] == '\n') {
        length--;
    }
    file.text[length] = '\0';
    return file;
}

} // namespace flakeid
