#!/usr/bin/env bash
# Installs what the tests in containers need, where that is possible; the tests themselves say what is missing and skip.
source "$(dirname "$0")/common.sh"

# The network plugins and debootstrap's keys are only recommended by what needs them, so each is named.
packages=(aardvark-dns debian-archive-keyring debootstrap iptables netavark podman runc)
missing=()
for package in "${packages[@]}"; do
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "not installed, which only root can do on a Debian: ${missing[*]}"
    exit 0
fi
step "containers: installing ${missing[*]}"
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}"; } ||
    echo "apt could not install them; its reason stands above"
