#!/bin/sh
# Runs Caddy as a proxy: run.sh CADDY OUT ADDR UPSTREAM. Its administration and its log are off.
set -eu
caddy=$1 out=$2 addr=$3 upstream=$4
export XDG_CONFIG_HOME="$out" XDG_DATA_HOME="$out"
exec "$caddy" run --config - <<END
{
  "admin": {"disabled": true, "config": {"persist": false}},
  "logging": {"logs": {"default": {"level": "ERROR"}}},
  "storage": {"module": "file_system", "root": "$out"},
  "apps": {"http": {"grace_period": "1500ms", "servers": {"proxy": {
    "listen": ["tcp/$addr"],
    "protocols": ["h1"],
    "automatic_https": {"disable": true},
    "routes": [{"handle": [{"handler": "reverse_proxy", "upstreams": [{"dial": "$upstream"}]}]}]
  }}}}
}
END
