# For scripts in bash that work in Debian chroots, as root. They are kept in $chroots for the next run.
chroots=${FLAKEID_CHROOTS:-/var/cache/flakeid}

# The Debian mirror of this machine, from apt's own configuration.
mirror() {
    local codename
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    apt-get indextargets --format '$(REPO_URI)' \
        "Codename: $codename" 'Origin: Debian' 'Created-By: Packages' | head -n 1
}

# A new chroot of a suite, with a few packages.
bootstrap() {  # ROOT SUITE PACKAGES
    local new=$1.new
    test/depends matrix
    [ -n "$(mirror)" ] || apt-get -qq update
    eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
    export http_proxy https_proxy

    rm -rf --one-file-system "$new"
    mkdir -p "$new"
    # Any Debian suite is made as sid is; the debootstrap of an older Debian may not know its name.
    debootstrap --variant=minbase --include="$3" "$2" "$new" "$(mirror)" /usr/share/debootstrap/scripts/sid
    printf '#!/bin/sh\nexit 101\n' >"$new/usr/sbin/policy-rc.d"  # packages start no services
    chmod +x "$new/usr/sbin/policy-rc.d"
    mv "$new" "$1"
}

# What the machine knows; again at each run, as it may change.
introduce() {  # ROOT SUITE...
    local root=$1 mirror suite
    shift
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    mirror=$(mirror)
    if [ -n "$mirror" ]; then
        for suite; do echo "deb $mirror $suite main"; done >"$root/etc/apt/sources.list"
    fi
    apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)' >"$root/etc/apt/apt.conf.d/90machine" || true
}

# Runs a command in a chroot, without a locale, as on a bare machine. Mounts are private to the namespace and processes
# end with it: nothing needs to be undone.
# Where UPPER is a directory, what the command writes goes there, and the chroot stays as it is.
enter() {  # ROOT COMMAND...
    unshare --mount --pid --fork --kill-child sh -euc '
        root=$1; shift
        if [ -n "${UPPER:-}" ]; then
            mkdir -p "$UPPER/files" "$UPPER/work" "$UPPER/root"
            mount -t overlay flakeid -o "lowerdir=$root,upperdir=$UPPER/files,workdir=$UPPER/work" "$UPPER/root"
            root=$UPPER/root
        fi
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm"
        unset TMPDIR PG_CONFIG UPPER LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME
        exec env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            chroot "$root" "$@"' enter "$@"
}
