package main

import (
	"compress/gzip"
	"net/http"
	"runtime"
	"strings"
	"sync"
)

// workers is how many threads compute at once at most, as in every server of the workload files.
const workers = 2

// files serves a folder as the standard library does, compressed if asked for.
func files(c config) http.Handler {
	runtime.GOMAXPROCS(min(workers, runtime.GOMAXPROCS(0)))
	h := http.FileServer(http.Dir(c.www))
	if !c.gzip {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.ServeHTTP(w, r)
			return
		}
		z := &compressor{ResponseWriter: w, head: r.Method == http.MethodHead}
		defer z.close()
		h.ServeHTTP(z, r)
	})
}

// idle has compressors of level 6, gzip's own default, that no request uses.
var idle = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressor compresses a body of text that is whole.
type compressor struct {
	http.ResponseWriter
	head bool         // there will be no body
	gzip *gzip.Writer // nil where the body is left as it is
}

func (c *compressor) WriteHeader(status int) {
	h := c.Header()
	if status == http.StatusOK && strings.HasPrefix(h.Get("Content-Type"), "text/") {
		h.Del("Content-Length")
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		if !c.head {
			c.gzip = idle.Get().(*gzip.Writer)
			c.gzip.Reset(c.ResponseWriter)
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressor) Write(b []byte) (int, error) {
	if c.gzip != nil {
		return c.gzip.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

func (c *compressor) close() {
	if c.gzip != nil {
		c.gzip.Close()
		idle.Put(c.gzip)
	}
}
