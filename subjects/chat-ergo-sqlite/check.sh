#!/bin/sh
# Says in one line why there is no Ergo with SQLite, or nothing.
set -eu
command -v ergo >/dev/null 2>&1 || { echo 'there is no ergo on the PATH, which has to be of version 2.18 or newer and built with SQLite: chat-ergo is one without' >&2; exit 1; }
version=$(ergo --version)
newest=$(printf '%s\nergo-2.18.0\n' "$version" | sort -V | tail -n 1)
[ "$newest" = "$version" ] || { echo "$version keeps no history in SQLite: install 2.18 or newer, built with SQLite" >&2; exit 1; }
