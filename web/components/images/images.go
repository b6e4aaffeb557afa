// Package images has filters that change pictures on their way to the client: a watermark, and a
// lower quality for clients that want to save data.
//
// They process JPEG and PNG (by Content-Type, in a response of status 200 without content coding)
// as a whole, and keep format, colour profile and Exif data. Other pictures pass unchanged: files
// above MaxBytes, pictures above MaxPixels or too small for the change, animated ones, CMYK, and
// files that cannot be decoded. A file that is known to be too large is not read: the kernel sends
// it. A stream of unknown length passes unchanged once it exceeds MaxBytes.
//
// The request's goroutine decodes a picture in the content phase. Workers pictures are decoded at
// once, and Queue may wait; further requests are answered by 503. The filters use at most
// (Workers+Queue)*MaxBytes for files and about Workers*MaxPixels*12 bytes for pictures. A worker is
// free before the client gets the first byte. Put a cache behind them: every request is processed
// anew.
//
// # Limitations
//
// A picture that Exif data rotates is marked as stored, so its mark is rotated with it. A PNG with
// 16 bits per channel has 8 after a change. A JPEG is encoded with 4:2:0 chroma. Lower quality only
// scales a PNG down and keeps its colours.
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

// limits are the limits of a filter.
type limits struct {
	maxBytes, maxPixels, workers, queue int
}

// withDefaults validates the limits and fills in defaults.
func (l limits) withDefaults(name string) (limits, error) {
	for _, f := range []struct {
		field string
		value int
	}{{"max_bytes", l.maxBytes}, {"max_pixels", l.maxPixels}, {"workers", l.workers}, {"queue", l.queue}} {
		if f.value < 0 {
			return l, fmt.Errorf("images: %s: %s is %d: it must not be negative", name, f.field, f.value)
		}
	}
	l.maxBytes = cmp.Or(l.maxBytes, 8<<20)
	l.maxPixels = cmp.Or(l.maxPixels, 16<<20)
	l.workers = cmp.Or(l.workers, runtime.GOMAXPROCS(0))
	l.queue = cmp.Or(l.queue, 4*l.workers)
	return l, nil
}

// filter is the common part of the filters.
type filter struct {
	limits
	quality int // of JPEG
	// reports whether to change the picture of an exchange; nil: always
	applies func(*web.Conn) bool
	change  func(image.Image) image.Image // returns nil if there is nothing to change
	smaller bool                          // use the result only if it has fewer bytes
	// A semaphore of the pictures that wait or are decoded. Capacity workers+queue, never closed.
	queuePlaces chan struct{}
	decodeSlots chan struct{} // a semaphore of the pictures that are decoded; capacity workers
}

func (f *filter) component(name string) web.Component {
	f.queuePlaces = make(chan struct{}, f.workers+f.queue)
	f.decodeSlots = make(chan struct{}, f.workers)
	return web.Named(name, web.Filter(f.handle))
}

// handle decides, in the setup phase, whether to change the picture of an exchange.
func (f *filter) handle(c *web.Conn) web.Transform {
	kind := pictureType(c)
	if kind == "" || c.Body().Size() > int64(f.maxBytes) || f.applies != nil && !f.applies(c) {
		return nil
	}
	select {
	case f.queuePlaces <- struct{}{}:
	default:
		c.Reply(http.StatusServiceUnavailable)
		c.SetHeader("Retry-After", "1")
		return nil
	}
	leave := sync.OnceFunc(func() { <-f.queuePlaces })
	c.After(func(*web.Conn) { leave() }) // for responses without a body
	ctx := c.Context()
	return func(next io.Writer) io.WriteCloser {
		return &pictureWriter{filter: f, ctx: ctx, kind: kind, next: next, leaveQueue: leave}
	}
}

// pictureType returns the type of a picture that filters support, or "".
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

// pictureWriter collects a picture and writes the changed one.
type pictureWriter struct {
	*filter
	ctx         context.Context
	kind        string
	next        io.Writer
	leaveQueue  func() // idempotent
	picture     []byte
	passThrough bool // the picture is too long and passes unchanged
}

// Write implements [io.Writer].
func (w *pictureWriter) Write(p []byte) (int, error) {
	if !w.passThrough && len(w.picture)+len(p) <= w.maxBytes {
		w.picture = append(w.picture, p...)
		return len(p), nil
	}
	if !w.passThrough {
		w.passThrough = true
		w.leaveQueue()
		if _, err := w.next.Write(w.picture); err != nil {
			return 0, err
		}
		w.picture = nil
	}
	return w.next.Write(p)
}

// Close writes the picture.
func (w *pictureWriter) Close() error {
	if w.passThrough {
		return nil
	}
	picture, err := w.result()
	if err != nil {
		return err
	}
	_, err = w.next.Write(picture)
	return err
}

// CloseWithError drops a truncated picture.
func (w *pictureWriter) CloseWithError(error) error {
	w.leaveQueue()
	w.picture = nil
	return nil
}

var errGone = errors.New("images: the client disconnected before its picture was processed")

// result returns the picture to send.
func (w *pictureWriter) result() ([]byte, error) {
	defer w.leaveQueue()
	select {
	case w.decodeSlots <- struct{}{}:
	case <-w.ctx.Done():
		return nil, errGone
	}
	defer func() { <-w.decodeSlots }()
	if changed := w.changePicture(w.picture, w.kind); changed != nil && (!w.smaller || len(changed) < len(w.picture)) {
		return changed, nil
	}
	return w.picture, nil
}
