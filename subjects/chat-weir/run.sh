#!/bin/sh
# Runs weir chat serve with fresh data in OUT/PORT: run.sh OUT ADDR PORT WAY [FLAG].
set -eu
rm -rf "${1:?}/${3:?}"
mkdir -p "$1/$3"
exec "$1/weir" chat serve --model "$4" --listen "$2" --data "$1/$3" ${5:+"$5"}
