# Read by the run.sh of each installed web server, which is called
#
#   run.sh --check                      says in one line what is missing, or nothing
#   run.sh --version
#   run.sh OUT HOST PORT WWW GZIP [CERT KEY]
#                                       serves the folder WWW at HOST:PORT until SIGTERM; GZIP is 0 or 1, OUT is where it may write; CERT
#                                       and KEY are PEM files of TLS, empty for plain HTTP
set -eu
PATH=$PATH:/usr/sbin:/sbin # where daemons are, for users who do not have it

# need ends the script if the server's program is not there.
need() {
	command -v "$1" >/dev/null 2>&1 || { echo "$1 is not installed (make peers)" >&2; exit 1; }
	case ${2:-} in
	--check) exit 0 ;;
	*) [ $# = 2 ] || [ $# = 6 ] || [ $# = 8 ] || { echo "usage: run.sh --check|--version|OUT HOST PORT WWW GZIP [CERT KEY]" >&2; exit 2; } ;;
	esac
}

# arguments gives the arguments names, makes a folder for what the server writes, and says how many may compute at once: two, as in every
# server of the workload files, or one where there is but one processor.
arguments() {
	host=$2 port=$3 www=$4 gzip=$5 cert=${6:-} key=${7:-}
	state=$1/$port
	rm -rf "$state"
	mkdir -p "$state"
	case $host in *:*) addr="[$host]:$port" ;; *) addr=$host:$port ;; esac
	workers=$(nproc 2>/dev/null || echo 2)
	if [ "$workers" -gt 2 ]; then workers=2; fi
	ulimit -n "$(ulimit -H -n)" 2>/dev/null || true
}

# runs says whether a process is there and has not ended.
runs() { read -r _ _ phase _ <"/proc/$1/stat" && [ "$phase" != Z ]; } 2>/dev/null

# await waits for the server's end, for so many hundredths of a second at most.
await() {
	read -r clock _ </proc/uptime
	until=$((${clock%.*}${clock#*.} + $1))
	while runs "$server" && [ "${clock%.*}${clock#*.}" -lt "$until" ]; do
		sleep 0.05
		read -r clock _ </proc/uptime
	done
}

# finish gives the server a second and a half for what it is answering. Clients who have sent half a request could keep it for longer.
finish() {
	asked=1
	kill -s "$gently" "$server" 2>/dev/null || true
	await 150
	for signal in TERM KILL; do
		runs "$server" || continue
		forced=1
		kill -s $signal -- "-$server" || true
		await 30
	done
}

# serve runs a server until SIGTERM or SIGINT. SIGNAL is the one by which the server ends gently. It gets a process group of its own, in
# which nothing may be left.
serve() { # serve SIGNAL COMMAND...
	gently=$1 forced=
	shift
	trap finish TERM INT
	setsid "$@" </dev/null &
	server=$!
	while :; do
		asked= status=0
		wait "$server" || status=$?
		[ -n "$asked" ] || break # it was not a signal that ended the wait
	done
	if [ -n "$forced" ]; then status=0; fi
	rm -rf "$state"
	exit "$status"
}
