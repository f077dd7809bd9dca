#!/bin/sh
# boot_systemd.sh SPACE BUILD PROGRAMS: in namespaces of its own, installs optile over a copy of
# this system that is gone afterwards, and becomes the systemd of it, with optile's unit alone.
set -eu
space=$1 build=$2 programs=$3
mount -t tmpfs -o size=512m tmpfs "$space"
mkdir "$space/changed" "$space/work" "$space/root"
mount -t overlay overlay \
  -o "lowerdir=/,upperdir=$space/changed,workdir=$space/work" "$space/root"
root=$space/root
DESTDIR=$root cmake --install "$build" >/dev/null
cp "$programs/rank" "$root/usr/local/bin/optile-test-program"
printf '[Unit]\nWants=optiled.service\nAfter=optiled.service\n' \
  >"$root/etc/systemd/system/optile-test.target"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp; do mount -t tmpfs tmpfs "$root/$folder"; done
mkdir -p "$root/run/systemd"
chroot "$root" systemd-sysusers
exec env -i container=optile-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  chroot "$root" /lib/systemd/systemd --system --unit=optile-test.target --show-status=no \
  --log-target=console
