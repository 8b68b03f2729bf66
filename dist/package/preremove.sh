#!/bin/sh
# Before the files of a package go, but not before newer ones replace them (deb
# says "upgrade" then, rpm 1). The state folder stays.
set -e
if [ "$1" != upgrade ] && [ "$1" != 1 ] && [ -d /run/systemd/system ]; then
  systemctl disable --now aldis.service aldis-signal-cli.service || true
fi
