// Package images has filters that change pictures on their way to the client: a watermark, a lower
// quality for clients that want to save data, and the width that a query asks for.
//
// They process JPEG and PNG (by Content-Type, in a response of status 200 without content coding)
// as a whole, and keep format, colour profile and Exif data. Other pictures pass unchanged: files
// above MaxBytes, pictures above MaxPixels or too small for the change, animated ones, CMYK, and
// files that cannot be decoded. A file that is known to be too large is not read: the kernel sends
// it. A stream of unknown length passes unchanged once it exceeds MaxBytes.
//
// The request's goroutine decodes a picture in the content phase. Workers pictures are decoded at
// once, and Queue may wait; further requests are answered by 503. The filters use at most
// (Workers+Queue)*MaxBytes for files and about Workers*MaxPixels*16 bytes for pictures. A worker is
// free before the client gets the first byte. One client's address may have half of the places.
// [Resize] has a cache. Put one behind the others: they process every request anew.
//
// A response with Cache-Control: no-transform passes unchanged (RFC 9111, section 5.2.2.6).
//
// # Widths
//
// [Resize] makes only the widths of its configuration. Another width, such as ?w=641, is answered
// by 400, and pictures of equal content share their results, whatever their address. So a client
// can make the server compute each picture of the site once for each width, and no more while the
// results fit in the cache. Results do not depend on request fields, so Vary stays as it is. Each
// width has an entity tag of its own, derived from that of the original.
//
// # Limitations
//
// A picture that Exif data rotates is marked as stored, so its mark is rotated with it. A PNG with
// 16 bits per channel has 8 after a change, and one with a palette has full colours. A JPEG is
// encoded with 4:2:0 chroma. Lower quality only scales a PNG down and keeps its colours.
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
	"weir/web/components/internal/coding"
	"weir/web/components/internal/share"
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
	change  changeFunc
	smaller bool // use the result only if it has fewer bytes
	*workplaces
}

// changeFunc changes a picture. turned says that viewers turn it by a quarter, so that its width is
// shown as its height. The function returns nil if there is nothing to change.
type changeFunc func(picture image.Image, turned bool) image.Image

// workplaces limit the pictures that are processed at once.
type workplaces struct {
	queuePlaces *share.Limit  // of the pictures that wait or are decoded
	decodeSlots chan struct{} // a semaphore of the pictures that are decoded; capacity workers
}

// newWorkplaces returns the places of these limits. onOverLimit is that of [share.New].
func newWorkplaces(l limits, onOverLimit func(string)) *workplaces {
	return &workplaces{share.New(l.workers+l.queue, onOverLimit), make(chan struct{}, l.workers)}
}

// handle decides, in the setup phase, whether to change the picture of an exchange.
func (f *filter) handle(c *web.Conn) web.Transform {
	kind := pictureType(c)
	if kind == "" || c.Body().Size() > int64(f.maxBytes) || f.applies != nil && !f.applies(c) {
		return nil
	}
	ctx := c.Context()
	return f.transform(c, func(picture []byte) ([]byte, error) { return f.result(ctx, picture, kind) })
}

// transform returns the transform that process makes of a picture, or answers by 503 if there is no
// place for it.
func (f *filter) transform(c *web.Conn, process func(picture []byte) ([]byte, error)) web.Transform {
	addr := c.RemoteAddr()
	if !f.queuePlaces.Enter(addr) {
		c.Reply(http.StatusServiceUnavailable)
		c.SetHeader("Retry-After", "1")
		return nil
	}
	leave := sync.OnceFunc(func() { f.queuePlaces.Leave(addr) })
	c.After(func(*web.Conn) { leave() }) // for responses without a body
	return func(next io.Writer) io.WriteCloser {
		return &pictureWriter{maxBytes: f.maxBytes, process: process, next: next, leaveQueue: leave}
	}
}

// pictureType returns the type of a picture that filters support, or "".
func pictureType(c *web.Conn) string {
	if s := c.Status(); s != 0 && s != http.StatusOK || c.Header("Content-Encoding") != "" || c.Header("Content-Range") != "" {
		return ""
	}
	if coding.HasToken(c.Headers("Cache-Control"), "no-transform") {
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
	maxBytes    int
	process     func(picture []byte) ([]byte, error) // returns the picture to send
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
	picture, err := w.process(w.picture)
	w.leaveQueue()
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
func (f *filter) result(ctx context.Context, picture []byte, kind string) ([]byte, error) {
	if !f.takeSlot(ctx) {
		return nil, errGone
	}
	defer f.freeSlot()
	if changed := f.changePicture(picture, kind); changed != nil && (!f.smaller || len(changed) < len(picture)) {
		return changed, nil
	}
	return picture, nil
}

// takeSlot waits until a picture may be decoded. It reports whether it may: the client may have
// disconnected.
func (p *workplaces) takeSlot(ctx context.Context) bool {
	select {
	case p.decodeSlots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *workplaces) freeSlot() { <-p.decodeSlots }
