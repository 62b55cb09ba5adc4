#!/usr/bin/env bash
# Run both commands of the README on a fresh machine: a minimal Debian 12 with the README's packages alone, a user without
# root, and a disk of 12 GB. Needs root and debootstrap; the machine's network settings and mirrors are used.
source "$(dirname "$0")/common.sh"

folder=$state/fresh
root=$folder/root
clone=/home/user/cdk-training-cluster

if [ "${1:-}" != inside ]; then
    [ "$(id -u)" -eq 0 ] || fail "make test-long SUITE=fresh mounts a disk and changes the root folder; run it as root"
    for program in debootstrap mkfs.ext4 setpriv unshare; do
        command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
            fail "$program is missing; install it (Debian: debootstrap e2fsprogs util-linux) and run make again"
    done
    mkdir -p "$state"
    exec 9>"$state/fresh.lock"
    flock --nonblock 9 || fail "make test-long SUITE=fresh runs already in $PWD; wait for its end"
    [ -z "$(git status --porcelain)" ] || echo "note: changes without a commit are not in the clone that is tested"
    # In separate namespaces: mounts and processes end with this script, however it ends, and the disk's file here,
    # or at the next start.
    rm -rf "$folder"
    trap 'rm -rf "$folder"' EXIT
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc "$0" inside &
    inside=$!
    trap 'kill -KILL "$inside"; stopped stopped' INT TERM HUP
    wait "$inside"
    exit
fi

export PATH=$PATH:/usr/sbin
used() { df --block-size=1MB --output=used "$root" | tail -1 | tr -d ' '; }

step "a disk of 12 GB with Debian 12"
mkdir -p "$root"
truncate --size 12GB "$folder/disk"
quietly "make a file system" mkfs.ext4 -q -m 0 "$folder/disk"
mount -o loop "$folder/disk" "$root"
packages=$(sed -nE 's/^sudo apt-get install ([^#]*[^# ]) *#.*/\1/p' README.md)
mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian bookworm //p' | head -1)
quietly "install Debian" debootstrap --variant=minbase --include="${packages// /,}" bookworm "$root" ${mirror:+"$mirror"}
rm -f "$root"/var/cache/apt/archives/*.deb
for name in dev sys; do mount --rbind "/$name" "$root/$name"; done
mount -t tmpfs shm "$root/dev/shm"
mount -t proc proc "$root/proc"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
chroot "$root" useradd --create-home --shell /bin/bash user
finish "with $packages, $(used) MB"

# The network of this machine, and nothing else of its environment.
variables=()
for name in {http,https,all,no}_proxy {HTTP,HTTPS,ALL,NO}_PROXY PIP_INDEX_URL PIP_DEFAULT_TIMEOUT UV_DEFAULT_INDEX UV_INDEX_URL; do
    [ -z "${!name:-}" ] || variables+=("$name=${!name}")
done
for name in SSL_CERT_FILE PIP_CERT NODE_EXTRA_CA_CERTS; do
    [ ! -f "${!name:-}" ] || { cp --parents -L "${!name}" "$root" && variables+=("$name=${!name}"); }
done
index=$(python3 -m pip config get global.index-url 2>/dev/null) && variables+=("PIP_INDEX_URL=$index")
registry=$(npm config get registry 2>/dev/null) && variables+=("npm_config_registry=$registry")

quietly "clone the repository" git clone "$PWD" "$root$clone"
chroot "$root" chown -R user: "$clone"

# The most that was ever used, in MB.
while sleep 2; do used >>"$folder/samples"; done &

for target in quickstart test; do
    echo "==> make $target"
    started=$SECONDS
    : >"$folder/samples"
    code=0
    chroot --userspec=user:user "$root" env -i HOME=/home/user USER=user PATH=/usr/local/bin:/usr/bin:/bin \
        "${variables[@]}" make --directory "$clone" "$target" </dev/null || code=$?
    echo "==> make $target: code $code, $((SECONDS - started)) s, $(used) MB used, $(sort -n "$folder/samples" | tail -1) MB at the peak"
    [ "$code" -eq 0 ] || exit "$code"
done
# Node.js keeps the compiled code of npm and of the AWS CDK CLI in its cache, from quickstart on.
left=$(chroot "$root" find "$clone/.tmp" /tmp -mindepth 1 -user user -not -path '/tmp/node-compile-cache*' | head -20)
[ -z "$left" ] || fail "the tests left files: $left"
