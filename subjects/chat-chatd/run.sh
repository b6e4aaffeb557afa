#!/bin/sh
# Runs c/chatd with fresh data in OUT/PORT and no limit on floods: run.sh OUT ADDR PORT.
set -eu
rm -rf "${1:?}/${3:?}"
mkdir -p "$1/$3"
exec "$1/chatd" --listen "$2" --data "$1/$3" --clients 2048 --flood 0
