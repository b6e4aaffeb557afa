#!/bin/sh
# Runs the tests that the Makefile built, each on a port of its own, and sums up in one line.
#   run.sh OUT SUBJECT...
set -u
out=$1
shift
log=$out/log
port=$((20000 + $$ % 10000))
failed=0
: >"$log"

run() {
	if ! "$@" >>"$log" 2>"$out/err"; then
		echo "c-test: FAILED: $*" >&2
		cat "$out/err" >&2
		failed=$((failed + 1))
	fi
}

run "$out/unit"
for subject in "$@"; do
	for workload in sink echo; do
		[ "$subject $workload" = "c-splice echo" ] && continue # the floor only sinks
		port=$((port + 1))
		run "$out/smoke" "$out/$subject" "$port" "$workload"
	done
done
[ "$failed" = 0 ] || exit 1
echo "c-test: $(wc -l <"$log") tests passed under ASan and UBSan: c-common and $*"
