package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/components/compress"
	"weir/web/components/files"
)

// sleepers is how many requests may sleep, or read the page, at once: more than any load of the
// experiment has connections.
const sleepers = 4096

// compose is what the server consists of.
func compose(ctx context.Context, c config) (web.Component, error) {
	parts := web.Chain(passes(c)...)
	if c.workload == "page" {
		return web.Chain(page(ctx, c), parts), nil
	}
	source, err := files.New(files.Config{Dir: c.www})
	if err != nil || !c.gzip {
		return web.Chain(source, parts), err
	}
	zip, err := compress.New(compress.Config{Cache: "0"}) // as others do it: anew for each request
	return web.Chain(source, parts, zip), err
}

// passes are the components that let everything through.
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

// page is the source of the one page of its workload, which is read from disk for each request. A
// sleep ends with ctx.
func page(ctx context.Context, c config) web.Component {
	var requests atomic.Int64
	file := filepath.Join(c.www, "page.html")
	html := web.NewField("Content-Type", "text/html; charset=utf-8")
	return web.Blocking(sleepers, sleepers, web.Named("page", web.Source(func(conn *web.Conn) web.Body {
		if p := conn.Path(); p != "/" && p != "/page.html" {
			return conn.Canned(http.StatusNotFound)
		}
		if n := requests.Add(1); c.every > 0 && n%c.every == 0 {
			select {
			case <-time.After(c.sleep):
			case <-ctx.Done():
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return conn.Fail(http.StatusInternalServerError, err)
		}
		conn.Set(html)
		return web.Bytes(text)
	})))
}
