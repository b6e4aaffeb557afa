# Read by the run.sh of each IRC server that is compared, which is called
#
#   run.sh --check                 says in one line what is missing, or nothing
#   run.sh --version
#   run.sh OUT HOST PORT HISTORY   serves at HOST:PORT until SIGTERM, in a new folder OUT/PORT; HISTORY is how many messages it keeps, if it keeps any
#
# All are set up alike: no limits on floods or connections, 4 MB that may wait for a client (ngIRCd has no such setting), no look-ups of names or users,
# no log.
set -eu
PATH=$PATH:/usr/sbin:/sbin # where daemons are, for users who do not have it

# need ends the script if the server's program is not there.
need() {
	command -v "$1" >/dev/null 2>&1 || { echo "$1 is not installed (make peers)" >&2; exit 1; }
	case ${2:-} in
	--check) exit 0 ;;
	*) [ $# = 2 ] || [ $# = 5 ] || { echo "usage: run.sh --check|--version|OUT HOST PORT HISTORY" >&2; exit 2; } ;;
	esac
}

# arguments gives the arguments names and makes the folder.
arguments() {
	host=$2 port=$3 history=$4
	state=$1/$port
	rm -rf "$state"
	mkdir -p "$state"
	ulimit -n "$(ulimit -H -n)" 2>/dev/null || true
}
