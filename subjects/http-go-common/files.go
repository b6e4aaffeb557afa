package main

import (
	"compress/gzip"
	"net/http"
	"runtime"
	"strings"
	"sync"
)

// workers is the most threads that compute at once, as in every server of the workload files.
const workers = 2

// files serves a folder as the standard library does, compressed if requested.
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

// idle holds unused compressors of level 6, gzip's default.
var idle = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressor compresses a complete body of text.
type compressor struct {
	http.ResponseWriter
	head bool         // a response without a body (HEAD)
	gzip *gzip.Writer // nil if the body is not compressed
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
