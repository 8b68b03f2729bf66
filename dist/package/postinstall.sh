#!/bin/sh
# After the files of a package are there: the user of the services. Nothing is
# started; aldis.env needs a token first.
set -e
systemd-sysusers aldis.conf
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
