#!/bin/sh
# Runs Caddy as a file server: run.sh OUT ADDR WWW GZIP [CERT KEY]. Its administration and its log are off.
set -eu
out=$1 addr=$2 www=$3
compress=
if [ "$4" = 1 ]; then compress='{"handler": "encode", "encodings": {"gzip": {}}},'; fi
policies='' loading=''
if [ -n "${5:-}" ]; then
	policies='"tls_connection_policies": [{"protocol_min": "tls1.3"}],'
	loading=", \"tls\": {\"certificates\": {\"load_files\": [{\"certificate\": \"$5\", \"key\": \"$6\"}]}}"
fi
export XDG_CONFIG_HOME="$out" XDG_DATA_HOME="$out"
exec "$out/caddy" run --config - <<END
{
  "admin": {"disabled": true, "config": {"persist": false}},
  "logging": {"logs": {"default": {"level": "ERROR"}}},
  "storage": {"module": "file_system", "root": "$out"},
  "apps": {"http": {"grace_period": "1500ms", "servers": {"files": {
    "listen": ["tcp/$addr"],
    "protocols": ["h1"],
    $policies
    "automatic_https": {"disable": true},
    "routes": [{"handle": [$compress {"handler": "file_server", "root": "$www"}]}]
  }}}$loading}
}
END
