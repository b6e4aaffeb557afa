package main

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// pageType is the page's Content-Type.
const pageType = "text/html; charset=utf-8"

// page is the workload's one page, on disk.
type page struct {
	config
	file     string
	requests atomic.Int64
	stopping <-chan struct{} // ends every sleep
}

func newPage(ctx context.Context, c config) *page {
	return &page{config: c, file: filepath.Join(c.www, "page.html"), stopping: ctx.Done()}
}

// at reports whether path is the page's.
func (p *page) at(path string) bool { return path == "/" || path == "/page.html" }

// read sleeps if this request's number is due, then reads the page from disk.
func (p *page) read() ([]byte, error) {
	if n := p.requests.Add(1); p.every > 0 && n%p.every == 0 {
		select {
		case <-time.After(p.sleep):
		case <-p.stopping:
		}
	}
	return os.ReadFile(p.file)
}
