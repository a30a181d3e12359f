#!/usr/bin/env bash
# Boots one container from an image and ends it when standard input closes: the caller's death,
# kill -9 included, cannot leave it behind.
#
#   boot.sh IMAGE WORK_DIR [more systemd-nspawn options]
#
# WORK_DIR/upper holds the files that lie over the image, WORK_DIR/console.log what the container
# prints. Changes go to WORK_DIR, so that a reboot keeps them; at the end WORK_DIR is removed.
set -uo pipefail
image=$1
work=$2
shift 2

name=nightsweep-test-$$
cgroups=/sys/fs/cgroup
[ -d $cgroups/unified ] && cgroups=$cgroups/unified
own_cgroup=$cgroups/$name

# Ctrl-C reaches the whole process group; this one still has to clean up.
trap '' INT TERM HUP

exec 3<&0
mkdir -p "$work/upper" "$work/changes" "$work/root"

# A mount namespace of its own: the overlay goes with the last process in it. A cgroup of its own:
# two containers that share one would fight over the payload.
mkdir "$own_cgroup"
(
  echo $BASHPID >"$own_cgroup/cgroup.procs"
  [ -d /sys/fs/cgroup/systemd ] && mkdir -p "/sys/fs/cgroup/systemd/$name" &&
    echo $BASHPID >"/sys/fs/cgroup/systemd/$name/cgroup.procs"
  exec unshare --mount --propagation private bash -c '
    image=$1 work=$2
    shift 2
    mount -t overlay overlay -o "lowerdir=$image,upperdir=$work/upper,workdir=$work/changes" \
      "$work/root" || exit 70
    export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_USE_CGNS=0
    status=133
    # With --keep-unit a reboot ends nspawn with 133: "start me again".
    while [ $status = 133 ]; do
      systemd-nspawn --quiet --register=no --keep-unit --resolv-conf=off --console=read-only \
        -D "$work/root" "$@" -b
      status=$?
    done
    exit $status
  ' boot "$image" "$work" "$@"
) </dev/null >"$work/console.log" 2>&1 3<&- &
container=$!
cat <&3 >/dev/null &
caller=$!

wait -n "$container" "$caller"
# The shell would tell the tests' output that its job was killed.
exec 2>/dev/null
kill -KILL "$container"
kill -KILL "$caller" 2>/dev/null
wait "$container" 2>/dev/null
status=$?

# Whatever of the container still runs is in its cgroup and in no other.
for _ in $(seq 50); do
  left=$(find "$own_cgroup" -name cgroup.procs -exec cat {} + 2>/dev/null)
  [ -z "$left" ] && break
  for pid in $left; do kill -KILL "$pid" 2>/dev/null; done
  sleep 0.1
done
for tree in "$own_cgroup" "/sys/fs/cgroup/systemd/$name"; do
  [ -d "$tree" ] && find "$tree" -depth -type d -exec rmdir {} + 2>/dev/null
done
rm -rf --one-file-system "$work"
exit "$status"
