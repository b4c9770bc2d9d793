#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes root file systems for the field `environment: {root: …}` of an approach:
#   roots.sh debian SUITE PACKAGE,PACKAGE… OUT.tar.gz [MIRROR]   (needs mmdebstrap)
#   roots.sh busybox OUT.tar.gz                                  (needs busybox-static)
set -euo pipefail

usage() {
  sed -n '3,5s/^# //p' "$0" >&2
  exit 2
}

case ${1:-} in
  debian)
    [ $# = 4 ] || [ $# = 5 ] || usage
    # Neither caches nor times of this run: the same packages give the same digest.
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
    mmdebstrap --variant=minbase --include="$3" "$2" - "${@:5}" | gzip -n >"$4"
    ;;
  busybox)
    [ $# = 2 ] || usage
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mkdir -p "$root/bin"
    cp /bin/busybox "$root/bin/busybox"
    "$root/bin/busybox" --list | while read -r applet; do
      [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
    done
    tar -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c . | gzip -n >"$2"
    ;;
  *) usage ;;
esac
