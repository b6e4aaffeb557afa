package proxy

import (
	"fmt"
	"io"
	"mime"
	"strings"

	"weir/web"
	"weir/web/http1"
	"weir/web/internal/conn"
	"weir/web/internal/origin"
)

// answer sets the response.
func (d *direct) answer(c *web.Conn) {
	r := d.response
	setResponseFields(c, d.conn.Fields(), r.NamesFields)
	c.SetStatus(r.Status)
	size := int64(-1)
	if r.Framing == http1.ByLength {
		size = r.Length
	}
	d.isEvents = isEventStream(c.Header("Content-Type"))
	c.Answer(web.Stream(size, d.copy).OnClose(d.end))
}

// isEventStream reports whether a media type is that of server-sent events.
func isEventStream(contentType string) bool {
	const events = "text/event-stream"
	if len(contentType) < len(events) || !strings.EqualFold(contentType[:len(events)], events) {
		return false
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == events
}

// copy passes the content on. Content without a stated length is sent as it arrives.
func (d *direct) copy(w io.Writer) error {
	limit := d.p.idleTimeout
	if d.isEvents {
		limit = 0
		d.endOnStop(w)
	}
	flushes := d.isEvents || d.response.Framing != http1.ByLength
	for {
		piece, err := d.conn.Next()
		switch {
		case err == io.EOF:
			for name, value := range fieldLines(string(d.conn.Trailers())) {
				web.SetTrailer(w, name, value)
			}
			return nil
		case err == nil && len(piece) == 0:
			if flushes {
				if err := web.Flush(w); err != nil {
					return err
				}
			}
			if rest, n := d.conn.Content(limit); n >= minSpliced {
				return d.copyRest(w, rest)
			}
			if err = d.conn.Await(limit); err == origin.ErrSlow {
				d.awaitClient(web.ContextOf(w))
				err = d.conn.Await(limit)
			}
		}
		if err != nil {
			return d.failCopy(err)
		}
		if len(piece) > 0 {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
	}
}

// minSpliced is the number of bytes that are worth a pipe, through which the kernel moves them.
const minSpliced = 128 << 10

// copyRest passes on the rest of the content, by the kernel if it can.
func (d *direct) copyRest(w io.Writer, rest *origin.Content) error {
	if d.conn.SkipNotice() {
		d.awaitClient(web.ContextOf(w))
	}
	// a filter, which has no ReadFrom, gets it in pieces
	if _, err := io.Copy(w, rest); rest.Err() == nil {
		return err
	}
	return d.failCopy(rest.Err())
}

// failCopy returns why the content is incomplete, and records it as the upstream's failure unless
// the client has disconnected. A stop of the server ends a stream of events cleanly: its client
// connects again.
func (d *direct) failCopy(why error) error {
	select {
	case <-d.stopping:
		return nil
	default:
	}
	if isTimeout(why) {
		why = fmt.Errorf("the upstream sent no data for %v", d.p.idleTimeout)
	}
	d.err = fmt.Errorf("proxy: %s: %w", d.upstream.reading.Name, why)
	if d.ctx == nil || d.ctx.Err() == nil {
		d.upstreamErr = d.err
	}
	return d.err
}

// endOnStop ends a stream of events when the server stops.
func (d *direct) endOnStop(w io.Writer) {
	if d.stopping = conn.Stopping(web.ContextOf(w)); d.stopping == nil {
		return
	}
	d.over = make(chan struct{})
	c, over := d.conn, d.over
	go func() { // until end
		select {
		case <-d.stopping:
			c.Interrupt()
		case <-over:
		}
	}()
}
