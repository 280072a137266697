# For scripts in bash that run as root: a Debian chroot with a PostgreSQL that checks its assertions and tells valgrind what it
# does with memory. It is Debian's own, compiled anew by asserting_server, and kept in $chroots for the next run.
. test/chroot.sh
suite=bookworm
export PG_MAJOR=15

# Runs a script of bash in this checkout, in a layer above the chroot. The layer of a script that fails is kept, for its logs.
in_asserting_chroot() {  # SCRIPT
    local root=$chroots/asserting result=0
    mkdir -p "$chroots"
    exec 9>"$root.lock"
    flock 9
    if [ ! -e "$root/usr/src/postgresql/done" ]; then
        [ -d "$root" ] || bootstrap "$root" "$suite" ca-certificates,git,make >"$root.log" 2>&1 || { cat "$root.log"; return 1; }
        introduce "$root" "$suite"
        cp test/depends test/on_demand/asserting_server "$root/root/"
        UPPER= enter "$root" /root/asserting_server </dev/null || return 1
    fi
    exec 9>&-

    UPPER=$(mktemp -d "$root.XXXXXX")
    export UPPER
    trap 'rm -rf --one-file-system "$UPPER"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    install -d -m 755 "$UPPER/files/etc/apt/apt.conf.d"
    install -d -m 700 "$UPPER/files/root"
    mkdir "$UPPER/files/root/flakeid"
    introduce "$UPPER/files" "$suite"
    test/copy "$UPPER/files/root/flakeid"
    enter "$root" bash -euo pipefail -c "cd /root/flakeid; $1" </dev/null || result=$?
    if [ $result != 0 ]; then
        trap - EXIT
        echo "Kept for a look: $UPPER/files"
    fi
    return $result
}
