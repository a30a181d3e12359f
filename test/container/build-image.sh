#!/usr/bin/env bash
# Builds the root file system that the tests of ssh and systemd boot, once, and prints its folder.
# Needs root, debootstrap and systemd-nspawn. Takes two minutes the first time, nothing later.
set -euo pipefail

packages=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,openssh-server,sudo,python3,procps
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
cache="${XDG_CACHE_HOME:-$HOME/.cache}/nightsweep-test"
# Another list of packages, or other steps below, is another image.
version=$(cat "$0" /etc/os-release | sha256sum | cut -c1-12)
image="$cache/image-$codename-$version"

mkdir -p "$cache"
exec 9>"$cache/build.lock"
flock 9
if [ -d "$image" ]; then
  echo "$image"
  exit 0
fi

# The mirror that this machine's apt is set up with.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' \
  "Codename: $codename" | head -n 1)
[ -n "$mirror" ] || { echo "apt on this machine names no mirror for $codename" >&2; exit 1; }

draft=$(mktemp -d "$cache/draft-XXXXXX")
trap 'rm -rf --one-file-system "$draft"' EXIT
chmod 755 "$draft"
debootstrap --variant=minbase --include="$packages" "$codename" "$draft" "$mirror" \
  >"$cache/build.log" 2>&1 || { tail -n 20 "$cache/build.log" >&2; exit 1; }

# The container shares the machine's network: the tests choose the port of each boot.
rm -f "$draft"/etc/ssh/ssh_host_* "$draft"/etc/resolv.conf "$draft"/etc/machine-id
rm -rf "$draft"/var/cache/apt "$draft"/var/lib/apt/lists
for unit in getty.target console-getty.service systemd-timesyncd.service systemd-networkd.service \
  systemd-resolved.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
  ssh.socket fstrim.timer e2scrub_all.timer e2scrub_reap.service; do
  ln -sf /dev/null "$draft/etc/systemd/system/$unit"
done
# With an id of its own the first boot is like any other: no presets, no questions.
tr -d - </proc/sys/kernel/random/uuid >"$draft/etc/machine-id"
echo nightsweep-test >"$draft/etc/hostname"
printf '127.0.0.1 localhost nightsweep-test\n' >"$draft/etc/hosts"
chroot "$draft" useradd --create-home --shell /bin/bash --uid 1500 alice

mv -T "$draft" "$image"
trap - EXIT
echo "$image"
