#!/bin/sh
# Runs the Ergo that is installed, with history in SQLite: see ../chat-ergo/run.sh.
set -eu
cd ../chat-ergo
ERGO=ergo PERSISTENT=true HISTORY_STORE="  sqlite: {enabled: true, database-path: \"$1/$3/history.db\", busy-timeout: 5s, max-conns: 1}"
export ERGO PERSISTENT HISTORY_STORE
exec sh run.sh "$@"
