#!/usr/bin/env bash
# Install what the tests in containers need, if possible; the tests report what is missing and skip.
source "$(dirname "$0")/common.sh"

# podman and debootstrap only recommend the network plugins and keys, so each package is named.
packages=(aardvark-dns debian-archive-keyring debootstrap iptables netavark podman runc)
missing=()
for package in "${packages[@]}"; do
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "not installed (needs root on Debian): ${missing[*]}"
    exit 0
fi
echo "==> containers: installing ${missing[*]}"
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}"; } ||
    echo "apt could not install them; see its message above"
