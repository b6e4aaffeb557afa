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

// page is the one page of the workload, on disk.
type page struct {
	config
	file     string
	requests atomic.Int64
	stopping <-chan struct{} // ends every sleep
}

func newPage(ctx context.Context, c config) *page {
	return &page{config: c, file: filepath.Join(c.www, "page.html"), stopping: ctx.Done()}
}

// at says whether the page is what a path leads to.
func (p *page) at(path string) bool { return path == "/" || path == "/page.html" }

// read sleeps if it is this request's turn, then reads the page from disk.
func (p *page) read() ([]byte, error) {
	if n := p.requests.Add(1); p.every > 0 && n%p.every == 0 {
		select {
		case <-time.After(p.sleep):
		case <-p.stopping:
		}
	}
	return os.ReadFile(p.file)
}
