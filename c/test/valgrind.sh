#!/bin/sh
# Talks to the server under valgrind, which watches each of its processes. It says nothing when all is well but how many it watched.
#   valgrind.sh OUT
set -eu
out=$1
command -v valgrind >/dev/null || { echo 'valgrind.sh: there is no valgrind: apt-get install valgrind' >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/chatd" <<END
#!/bin/sh
exec valgrind -q --leak-check=no --log-file=$dir/%p.log $(realpath "$out")/chatd "\$@"
END
chmod +x "$dir/chatd"
"$out/check/talk" "$dir/chatd" "$out/chatc" --no-sandbox >"$dir/said" 2>&1 || { cat "$dir/said" >&2; exit 1; }
cat "$dir"/*.log >"$dir/all"
if [ -s "$dir/all" ]; then
	cat "$dir/all" >&2
	exit 1
fi
echo "valgrind: nothing to say of $(find "$dir" -name '*.log' | wc -l) processes"
