#!/usr/bin/env bash
# Unpack Debian's etcd and its client in Python for the tests of torchrun; they skip, with this reason, where it is missing.
source "$(dirname "$0")/common.sh"

folder=.setup/etcd
packages=(etcd-server python3-dnspython python3-etcd python3-six python3-urllib3)
[ -f "$folder/complete" ] && exit 0

if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "not unpacked (needs apt-get): ${packages[*]}"
    exit 0
fi
echo "==> etcd: unpacking ${packages[*]} into $folder"
rm -rf "$folder"
mkdir -p "$folder/packages"
# apt itself gives up its privileges, and may not write here then.
if (cd "$folder/packages" && apt-get -o APT::Sandbox::User=root -qq download "${packages[@]}"); then
    for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
    touch "$folder/complete"
else
    echo "apt could not download them; see its message above, or run 'apt-get update' first"
fi
