#!/bin/bash
# setup.sh: installs what the build needs and this machine lacks. Debian and its kin; as root or through sudo, else it prints the line to type.
# Quick when there is nothing to do: demo and test call it each time.
set -u

# package and one file of it that shows it is there
needed="
gcc                     $(command -v gcc || echo /usr/bin/gcc)
make                    $(command -v make || echo /usr/bin/make)
libc6-dev               /usr/lib/x86_64-linux-gnu/libc.a
libopenblas-serial-dev  /usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.a
libjansson-dev          /usr/lib/x86_64-linux-gnu/libjansson.a
libconfig-dev           /usr/lib/x86_64-linux-gnu/libconfig.a
libpcre2-dev            /usr/lib/x86_64-linux-gnu/libpcre2-8.a
libutf8proc-dev         /usr/lib/x86_64-linux-gnu/libutf8proc.a
libxxhash-dev           /usr/lib/x86_64-linux-gnu/libxxhash.a
"
missing=$(echo "$needed" | while read -r package file; do
    [ -n "$package" ] && [ ! -e "$file" ] && echo "$package"
done)
if [ -z "$missing" ]; then
    exit 0
fi
missing=$(echo $missing)

if ! command -v apt-get > /dev/null; then
    echo "setup: this machine has no apt-get; install what these Debian packages hold, static archives included: $missing" >&2
    exit 69
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "setup: the host board is built for x86-64 with AVX2; this machine is $(uname -m)" >&2
    exit 69
fi
install="apt-get update && apt-get install -y --no-install-recommends $missing"
if [ "$(id -u)" -eq 0 ]; then
    run=""
elif command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
    run="sudo"
else
    echo "setup: missing: $missing. As root, type:" >&2
    echo "    $install" >&2
    exit 77
fi
echo "setup: installing $missing"
log=$(mktemp)
if ! { $run apt-get update && DEBIAN_FRONTEND=noninteractive $run apt-get install -y --no-install-recommends $missing; } > "$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "setup: apt-get failed; the whole log is $log. What it should do: $install" >&2
    exit 69
fi
rm -f "$log"
