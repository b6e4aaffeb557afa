#!/bin/sh
# Runs the tests that the Makefile built below OUT, and sums up in one line. Under the sanitizers the server keeps the right to every system
# call, which they need; the server as it is installed is then tested with its sandbox.
#   run.sh OUT
set -u
out=$1
vectors=$(dirname "$0")/../../docs/vectors
log=$out/check/log
failed=0
: >"$log"

run() {
	if ! "$@" >>"$log" 2>"$out/check/err"; then
		echo "c: FAILED: $*" >&2
		cat "$out/check/err" >&2
		failed=$((failed + 1))
	fi
}

run "$out/check/unit" "$vectors"
run "$out/check/talk" "$out/check/chatd" "$out/check/chatc" --no-sandbox
run "$out/check/talk" "$out/chatd" "$out/chatc"
[ "$failed" = 0 ] || exit 1
echo "c: $(awk '{ n += $1 } END { print n }' "$log") checks passed"
