package engine

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/web/http1"
)

// maxJoined is the number of bytes of head and content that are copied into one buffer for one
// write.
const maxJoined = 16 << 10

// maxPending is the number of bytes of content that are kept until the length of all is known.
const maxPending = 2 << 10

// response is the response side of an exchange.
type response struct {
	interim sync.Mutex // held to send 100 (Continue), and to start a head
	responseState
}

// responseState is what belongs to one exchange.
type responseState struct {
	exchange *exchange
	header   http.Header
	framing  http1.Exchange
	status   int   // 0: not decided
	declared int64 // Content-Length that the handler has set; -1: none

	out        []byte // head, or content, that was not sent
	headEnded  bool   // the framing is in out or was sent
	pending    []byte // content whose framing is not decided
	written    int64  // bytes of content that the handler has written
	connection []string
	sniffs     bool      // Content-Type is detected from the content
	failed     error     // a write has failed: the connection ends
	hijacked   *takeover // nil: the connection is the server's
	fullDuplex bool      // the handler reads content while it writes
}

// reset prepares the response to the current request.
func (w *response) reset(x *exchange) {
	header := w.header
	if header == nil {
		header = make(http.Header)
	}
	clear(header)
	w.responseState = responseState{exchange: x, header: header, framing: http1.NewExchange(x.head.request, x.head.options), declared: -1, out: w.out[:0], pending: w.pending[:0]}
}

// Header implements [http.ResponseWriter].
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	switch {
	case w.exchange.over || w.hijacked != nil:
		return
	case status < 100 || status > 999:
		panic("engine: invalid status " + strconv.Itoa(status))
	case w.status != 0:
		return
	case status < 200 && status != http.StatusSwitchingProtocols:
		w.sendInformational(status)
		return
	}
	w.startHead(status)
}

// startHead appends the fields that are set now. Later changes of the header have no effect.
func (w *response) startHead(status int) {
	w.interim.Lock()
	w.status = status
	w.interim.Unlock()
	h := w.header
	if length := h["Content-Length"]; len(length) > 0 {
		if n, err := strconv.ParseUint(length[0], 10, 63); err == nil {
			w.declared = int64(n)
		}
	}
	w.connection = h["Connection"]
	_, typed := h["Content-Type"] // nil prevents that it is detected, as with net/http
	w.sniffs = !typed && h["Content-Encoding"] == nil && h["Transfer-Encoding"] == nil
	w.out = w.framing.AppendFields(w.out, status, h, dateField(time.Now()))
}

// sendInformational sends an informational response at once.
func (w *response) sendInformational(status int) {
	w.interim.Lock()
	defer w.interim.Unlock()
	w.send(w.framing.AppendInformational(nil, status, w.header))
}

// sendContinue sends 100 (Continue), unless the final response has started. The goroutine that
// reads the request's content calls it.
func (w *response) sendContinue() error {
	w.interim.Lock()
	defer w.interim.Unlock()
	if w.status != 0 || w.exchange.over {
		return nil
	}
	_, err := w.exchange.conn.write(w.framing.AppendInformational(nil, http.StatusContinue, nil))
	return err
}

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (int, error) {
	switch {
	case w.exchange.over:
		return 0, errOver
	case w.hijacked != nil:
		return 0, http.ErrHijacked
	}
	if w.status == 0 {
		w.startHead(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	switch {
	case w.failed != nil:
		return 0, w.failed
	case !allowsContent(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.declared >= 0 && w.written+int64(len(p)) > w.declared:
		return 0, http.ErrContentLength
	}
	w.written += int64(len(p))
	if !w.headEnded && len(w.pending)+len(p) <= maxPending {
		w.pending = append(w.pending, p...)
		return len(p), nil
	}
	w.endHead(w.declared, p)
	w.writeContent(w.pending)
	w.pending = w.pending[:0]
	w.writeContent(p)
	return len(p), w.failed
}

// WriteString implements [io.StringWriter].
func (w *response) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// allowsContent reports whether a response with this status can have content (RFC 9110, section
// 6.4.1).
func allowsContent(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// endHead completes the head, once. more is content behind w.pending.
func (w *response) endHead(length int64, more []byte) {
	if w.headEnded {
		return
	}
	w.headEnded = true
	if !w.fullDuplex && !w.framing.Close && !w.exchange.body.drain() {
		w.framing.Close = true
	}
	if first := w.pending; w.sniffs && len(first)+len(more) > 0 && allowsContent(w.status) {
		first = append(first, more[:min(len(more), 512)]...)
		w.out = append(append(append(w.out, "Content-Type: "...), http.DetectContentType(first)...), "\r\n"...)
	}
	w.out = w.framing.AppendFraming(w.out, w.status, length, w.hasTrailers(), w.connection)
}

// hasTrailers reports whether the handler has declared trailer fields, or set some.
func (w *response) hasTrailers() bool {
	if w.header["Trailer"] != nil {
		return true
	}
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// writeContent appends content to the output, framed, and sends what is too much to keep.
func (w *response) writeContent(p []byte) {
	if len(p) == 0 || w.framing.Framing == http1.NoContent {
		return
	}
	chunked := w.framing.Framing == http1.Chunked
	if chunked {
		w.out = http1.AppendChunk(w.out, len(p))
	}
	if len(w.out)+len(p) <= maxJoined {
		w.out = append(w.out, p...)
	} else {
		w.flush()
		w.send(p)
	}
	if chunked {
		w.out = append(w.out, http1.ChunkEnd...)
	}
}

// flush sends the output that is kept.
func (w *response) flush() {
	if len(w.out) > 0 {
		w.send(w.out)
		w.out = w.out[:0]
	}
}

// send writes to the connection.
func (w *response) send(p []byte) {
	if w.failed == nil && len(p) > 0 {
		_, w.failed = w.exchange.conn.write(p)
	}
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() }

// FlushError sends what was written so far.
func (w *response) FlushError() error {
	switch {
	case w.exchange.over:
		return errOver
	case w.hijacked != nil:
		return http.ErrHijacked
	}
	if w.status == 0 {
		w.startHead(http.StatusOK)
	}
	w.endHead(w.declared, nil)
	w.writeContent(w.pending)
	w.pending = w.pending[:0]
	w.flush()
	return w.failed
}

// errOver is the error of writing a response after its handler has returned.
var errOver = errors.New("engine: the handler of this response has returned")

// errShort is why a connection ends whose response is shorter than its Content-Length.
var errShort = errors.New("engine: the handler has written less than its Content-Length")

// finish completes the response after the handler has returned.
func (w *response) finish() {
	if w.status == 0 {
		w.startHead(http.StatusOK)
	}
	length := w.declared
	if !w.headEnded && length < 0 && (w.framing.HasContent(w.status) || len(w.pending) > 0) {
		length = int64(len(w.pending))
	}
	w.endHead(length, nil)
	w.writeContent(w.pending)
	if w.framing.Framing == http1.Chunked {
		w.out = http1.AppendLastChunk(w.out, w.trailers())
	}
	w.flush()
	if w.failed == nil && w.framing.Framing == http1.ByLength && w.declared > w.written {
		w.failed = errShort
	}
}

// trailers returns the trailer fields that the handler has set: those that it has declared, and
// those with [http.TrailerPrefix].
func (w *response) trailers() http.Header {
	var all http.Header
	set := func(name string, values []string) {
		if all == nil {
			all = make(http.Header)
		}
		all[name] = values
	}
	for name := range declaredTrailers(w.header["Trailer"]) {
		if values := w.header[name]; values != nil {
			set(name, values)
		}
	}
	for name, values := range w.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			set(name, values)
		}
	}
	return all
}

// Respond sends a response with this status, the fields in Header, and content whose length is
// known. Nothing may have been written before. sent is the number of bytes of the content that were
// sent.
func (w *response) Respond(status int, content []byte) (sent int64, err error) {
	w.startHead(status)
	w.sniffs = false
	w.declared = int64(len(content))
	w.endHead(w.declared, nil)
	if w.framing.Framing == http1.NoContent {
		content = nil
	}
	w.written = int64(len(content))
	w.writeContent(content)
	w.flush()
	if w.failed != nil {
		return 0, w.failed
	}
	return int64(len(content)), nil
}

// ReadFrom implements [io.ReaderFrom].
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	if s, ok := r.(socketReader); ok {
		if n, err := w.splice(s); !errors.Is(err, errors.ErrUnsupported) {
			return n, err
		}
	}
	buffer := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buffer)
	return io.CopyBuffer(writerFunc(w.Write), r, *buffer)
}
