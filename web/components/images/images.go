// Package images has filters that change pictures on their way to the client: a watermark, and a
// lower quality for who wants to save data.
//
// They take JPEG and PNG (by Content-Type, in a response of status 200 that is not coded), whole,
// and keep format, colour profile and Exif data. What they can't take passes as it is: other types,
// files above MaxBytes, pictures above MaxPixels or too small for what is done, animated ones,
// CMYK, and what does not decode. Of a file that is known to be too large nothing is read: the
// kernel sends it. A stream of unknown length passes unchanged, too, from the moment that it is
// longer than MaxBytes.
//
// A picture is decoded in the content phase, by the goroutine of its request: Workers of them at
// once, and Queue wait for that; more are answered by 503. So at most (Workers+Queue)*MaxBytes are
// held, and about Workers*MaxPixels*12 bytes beside. The seat is free before the client gets the
// first byte. Put a cache behind them: every request pays anew.
//
// # Limitations
//
// A picture that Exif data turns is marked as it is stored, so that its mark is turned with it. A
// PNG of 16 bits a channel has 8 when it was changed. A JPEG is encoded with 4:2:0 chroma. Lower
// quality leaves the colours of a PNG alone: only its size is brought down.
package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"weir/web"
)

// Limits are what a filter takes.
type limits struct {
	maxBytes, maxPixels, workers, queue int
}

// checked are the limits with defaults.
func (l limits) checked(name string) (limits, error) {
	for _, f := range []struct {
		field string
		value int
	}{{"max_bytes", l.maxBytes}, {"max_pixels", l.maxPixels}, {"workers", l.workers}, {"queue", l.queue}} {
		if f.value < 0 {
			return l, fmt.Errorf("images: %s: %s is %d: it cannot be less than 0", name, f.field, f.value)
		}
	}
	l.maxBytes = cmp.Or(l.maxBytes, 8<<20)
	l.maxPixels = cmp.Or(l.maxPixels, 16<<20)
	l.workers = cmp.Or(l.workers, runtime.GOMAXPROCS(0))
	l.queue = cmp.Or(l.queue, 4*l.workers)
	return l, nil
}

// filter is what the filters have in common.
type filter struct {
	limits
	quality int // of JPEG
	// whether the exchange is one whose picture is to be changed; nil: all are
	wanted  func(*web.Conn) bool
	change  func(image.Image) image.Image // nil when there is nothing to do
	smaller bool                          // the result is taken only when it has fewer bytes
	// from an exchange -> to itself when its picture is done; capacity workers+queue, never closed
	line  chan struct{}
	seats chan struct{} // the same, of those that are decoded; capacity workers
}

func (f *filter) component(name string) web.Component {
	f.line = make(chan struct{}, f.workers+f.queue)
	f.seats = make(chan struct{}, f.workers)
	return web.Named(name, web.Filter(f.handle))
}

// handle decides, in the set-up phase, whether the picture of an exchange is to be changed.
func (f *filter) handle(c *web.Conn) web.Transform {
	kind := pictureType(c)
	if kind == "" || c.Body().Size() > int64(f.maxBytes) || f.wanted != nil && !f.wanted(c) {
		return nil
	}
	select {
	case f.line <- struct{}{}:
	default:
		c.Reply(http.StatusServiceUnavailable)
		c.SetHeader("Retry-After", "1")
		return nil
	}
	leave := sync.OnceFunc(func() { <-f.line })
	c.After(func(*web.Conn) { leave() }) // for answers without a body
	ctx := c.Context()
	return func(next io.Writer) io.WriteCloser {
		return &whole{filter: f, ctx: ctx, kind: kind, next: next, leave: leave}
	}
}

// pictureType is the type of a picture that a filter can take, "" when it is none.
func pictureType(c *web.Conn) string {
	if s := c.Status(); s != 0 && s != http.StatusOK || c.Header("Content-Encoding") != "" || c.Header("Content-Range") != "" {
		return ""
	}
	kind, _, _ := strings.Cut(c.Header("Content-Type"), ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "image/jpeg", "image/png":
		return kind
	}
	return ""
}

// whole is a writer that collects a picture and writes what becomes of it.
type whole struct {
	*filter
	ctx     context.Context
	kind    string
	next    io.Writer
	leave   func() // the line; may be called several times
	picture []byte
	passing bool // it was too long, and passes as it is
}

// Write implements [io.Writer].
func (w *whole) Write(p []byte) (int, error) {
	if !w.passing && len(w.picture)+len(p) <= w.maxBytes {
		w.picture = append(w.picture, p...)
		return len(p), nil
	}
	if !w.passing {
		w.passing = true
		w.leave()
		if _, err := w.next.Write(w.picture); err != nil {
			return 0, err
		}
		w.picture = nil
	}
	return w.next.Write(p)
}

// Close writes the picture.
func (w *whole) Close() error {
	if w.passing {
		return nil
	}
	picture, err := w.done()
	if err != nil {
		return err
	}
	_, err = w.next.Write(picture)
	return err
}

// CloseWithError lets go of a picture that breaks off.
func (w *whole) CloseWithError(error) error {
	w.leave()
	w.picture = nil
	return nil
}

var errGone = errors.New("images: the client has gone before its picture was begun")

// done is the picture that is sent.
func (w *whole) done() ([]byte, error) {
	defer w.leave()
	select {
	case w.seats <- struct{}{}:
	case <-w.ctx.Done():
		return nil, errGone
	}
	defer func() { <-w.seats }()
	if changed := w.changed(w.picture, w.kind); changed != nil && (!w.smaller || len(changed) < len(w.picture)) {
		return changed, nil
	}
	return w.picture, nil
}
