package main

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/components/compress"
	"weir/web/components/files"
	"weir/web/components/proxy"
	"weir/web/server"
)

// maxSleeping is how many requests may sleep, or read the page, at once: more than any load of the
// experiment has connections.
const maxSleeping = 4096

// compose builds the server's composition.
func compose(c config) (web.Component, error) {
	// The first component of a chain is the source; the others change its answers.
	parts := web.Chain(passes(c)...)
	if c.workload == "page" {
		return web.Chain(page(c), parts), nil
	}
	if c.workload == "proxy" {
		forward, err := proxy.New(proxy.Config{Upstreams: []string{"http://" + c.upstream}})
		return web.Chain(forward, parts), err
	}
	source, err := files.New(files.Config{Dir: c.www})
	if err != nil || !c.gzip {
		return web.Chain(source, parts), err
	}
	// No cache: the server compresses anew for each request, as other subjects do.
	zip, err := compress.New(compress.Config{Cache: "0"})
	return web.Chain(source, parts, zip), err
}

// passes returns the components that pass everything through.
func passes(c config) (parts []web.Component) {
	for range c.filters {
		if c.piped {
			parts = append(parts, basic.PassPiped())
		} else {
			parts = append(parts, basic.Pass())
		}
	}
	return parts
}

// page is the source of the workload's one page, which is read from disk for each request. A stop
// ends a sleep.
func page(c config) web.Component {
	var requests atomic.Int64
	file := filepath.Join(c.www, "page.html")
	html := web.NewField("Content-Type", "text/html; charset=utf-8")
	const width, queue = maxSleeping, maxSleeping // calls at once, and exchanges that wait for one
	return web.Blocking(width, queue, web.Named("page", web.Source(func(conn *web.Conn) web.Body {
		if p := conn.Path(); p != "/" && p != "/page.html" {
			return conn.StatusBody(http.StatusNotFound)
		}
		if n := requests.Add(1); c.every > 0 && n%c.every == 0 {
			select {
			case <-time.After(c.sleep):
			case <-server.Stopping(conn.Context()):
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return conn.Fail(http.StatusInternalServerError, err)
		}
		conn.SetField(html)
		return web.Bytes(text)
	})))
}
