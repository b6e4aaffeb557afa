// Command http-caddy is Caddy with the modules of a file server and a proxy alone, on at most two
// processors.
package main

import (
	"runtime"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode/gzip"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
)

// workers is the most threads that compute at once, as in every server of the workload files.
const workers = 2

func main() {
	runtime.GOMAXPROCS(min(workers, runtime.GOMAXPROCS(0)))
	caddycmd.Main()
}
