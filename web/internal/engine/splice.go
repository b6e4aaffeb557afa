package engine

import (
	"errors"
	"net/http"

	"weir/serve"
	"weir/web/http1"
)

// socketReader is a reader of content that arrives on a socket.
type socketReader interface {
	serve.SpliceSource
	// Left returns the number of bytes that were not read.
	Left() int64
}

// splice has the kernel move all of r into the content. The error is errors.ErrUnsupported, and
// nothing of r was read, if that is not possible.
func (w *response) splice(r socketReader) (int64, error) {
	if w.exchange.over || w.hijacked != nil || w.failed != nil || w.declared < 0 || w.written+r.Left() > w.declared {
		return 0, errors.ErrUnsupported
	}
	if w.status == 0 {
		w.startHead(http.StatusOK)
	}
	w.endHead(w.declared, nil)
	if w.framing.Framing != http1.ByLength {
		return 0, errors.ErrUnsupported
	}
	w.writeContent(w.pending)
	w.pending = w.pending[:0]
	if w.flush(); w.failed != nil {
		return 0, w.failed
	}
	sent, err := w.exchange.conn.splice(r, r.Left())
	w.written += sent
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		w.failed = err
	}
	return sent, err
}
