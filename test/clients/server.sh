# For the tests of what stands beside a server: sourced by their "run", which the superuser has.
set -eu
export PGUSER=postgres PGOPTIONS='-c client_min_messages=warning'
servers= pids=
finish() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for data in $servers; do pg_ctl -s -D "$data" -m immediate stop >/dev/null 2>&1 || true; done
}
trap finish EXIT
trap 'exit 130' INT TERM

sql() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }

free_port() {
    perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

# Starts the server in directory $1, with the other arguments as lines of its configuration; sets $port.
start() {
    port=$(free_port)
    servers="$servers $PWD/$1"
    printf '%s\n' "port = $port" "listen_addresses = '127.0.0.1'" "unix_socket_directories = ''" 'fsync = off' "${@:2}" >>"$1/postgresql.conf"
    pg_ctl -s -w -D "$1" -l "$1.log" start || { cat "$1.log"; exit 1; }
}

# A new server with a database of the same name as ours.
server() {
    initdb -A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync -D "$1" >/dev/null
    start "$@"
    PGPORT=$port createdb "$PGDATABASE"
}

# Waits until the query says t.
wait_for() {
    for _ in $(seq ${WAIT:-3000}); do
        [ "$(sql "$@" 2>/dev/null)" = t ] && return
        sleep 0.1
    done
    echo "waited in vain: $*"
    exit 1
}

check() { [ "$1" = "$2" ] || { printf '%s\n' "found: $1" "expected: $2"; exit 1; }; }

version() { dpkg-query -W -f 'version: ${Package} ${Version}\n' "$@"; }
