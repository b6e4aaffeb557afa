package serve

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"
)

// full is an answer larger than the socket buffers.
var full = noise(6, 300_000)

// answer is a session that answers its first input with full.
type answer struct {
	last bool // it ends then
	conn Conn // it closes conn when the output is sent; nil: it does not
}

func (a answer) Input(in []byte, out *Writer) error {
	if in[0] != '?' {
		return nil
	}
	out.Write(full)
	if a.conn != nil {
		out.WakeAt(time.Now())
	}
	if a.last {
		return io.EOF
	}
	return nil
}

func (a answer) Wake(_ time.Time, out *Writer) error {
	if !waitsFor(a.conn) {
		a.conn.Close()
		return nil
	}
	out.WakeAt(time.Now().Add(time.Millisecond))
	return nil
}

func (answer) Close(error) {}

// giveAnswer is answer as a handler.
func giveAnswer(c net.Conn) {
	c.Read(make([]byte, 1))
	c.Write(full)
}

// answerOn is giveAnswer and continues to read.
func answerOn(c net.Conn) {
	giveAnswer(c)
	for buf := make([]byte, 4096); ; {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// answersInFull sends a request and continues to send. It keeps its end open, which must delay
// neither other connections nor the stop.
func answersInFull(t *testing.T, r *running, _ Way) {
	for i := range 3 {
		c := r.dial()
		c.Write([]byte("?"))
		go c.Write(make([]byte, 1<<20))
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, full) {
			t.Errorf("connection %d: got %d of %d bytes and %v, want all and the end", i, len(got), len(full), err)
		}
	}
	r.stopsCleanly()
}

// answersBeforeStop sends a request, and reads slowly while the service stops.
func answersBeforeStop(t *testing.T, r *running, _ Way) {
	c := r.dial()
	c.Write([]byte("?"))
	got := make([]byte, 1)
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	sent, stopped := make(chan error), make(chan error)
	go func() {
		var err error
		for ; err == nil; time.Sleep(time.Millisecond) {
			_, err = c.Write(make([]byte, 4096))
		}
		sent <- err
	}()
	go func() { stopped <- r.stop() }()
	err := error(nil)
	for part := make([]byte, 1<<14); err == nil; time.Sleep(time.Millisecond) {
		var n int
		n, err = c.Read(part)
		got = append(got, part[:n]...)
	}
	if !bytes.Equal(got, full) { // the end may be a reset once all bytes have been acknowledged
		t.Errorf("got %d of %d bytes and %v, want all", len(got), len(full), err)
	}
	c.Close()
	<-sent
	if err := <-stopped; err != nil {
		t.Errorf("Run returned %v, want nil after a stop", err)
	}
}

// Over TLS, too, a reset does not lose the last record.
func TestAnswersArriveInFullOverTLS(t *testing.T) {
	site := httptest.NewTLSServer(nil) // for its certificate
	site.Close()
	config, client := &tls.Config{Certificates: site.TLS.Certificates}, &tls.Config{InsecureSkipVerify: true}
	for _, w := range []Way{Goroutine, Pool} {
		for _, f := range []form{sessions, handlers} {
			t.Run(w.String()+"/"+string(f), func(t *testing.T) {
				r := startServiceOver(t, tls.NewListener(listen(t), config), w, f, services["answer"], Options{})
				raw := r.dial()
				c := tls.Client(raw, client)
				c.Write([]byte("?"))
				go c.Write(make([]byte, 1<<20))
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, full) {
					t.Errorf("got %d of %d bytes and %v, want all and the end", len(got), len(full), err)
				}
				r.stopsCleanly()
			})
		}
	}
}

// A peer that neither reads nor closes keeps its connection for Options.LingerTimeout and no
// longer.
func TestALingeringCloseIsBounded(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		for _, f := range []form{sessions, handlers} {
			if f == handlers && !Ways[w].RunsHandlers {
				continue
			}
			const bound = 30 * time.Millisecond
			r := startService(t, w, f, services["answer"], Options{Workers: 1, LingerTimeout: bound, FlushTimeout: shortTimeout})
			for range 2 {
				c := r.dial()
				began := time.Now()
				c.Write([]byte("?"))
				for {
					if _, err := c.Write([]byte("?")); err != nil {
						break
					}
					time.Sleep(time.Millisecond)
				}
				if took := time.Since(began); took < bound {
					t.Errorf("%s: the connection was closed after %v, want %v or more", f, took, bound)
				}
			}
			eventually(t, "both connections closed", func() bool { return r.meter.Snapshot().Open == 0 })
			r.stopsCleanly()
		}
	})
}

// The peer of such a connection does not close it, and gets all output nevertheless.
func TestASkippedLingerClosesAtOnce(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		for name, inHandler := range map[string]func(net.Conn, func()){
			"on the loop":  func(_ net.Conn, f func()) { f() },
			"off the loop": OffLoop,
		} {
			handle := func(c net.Conn) {
				c.Read(make([]byte, 1))
				inHandler(c, func() {
					c.Write(full)
					SkipLinger(c)
				})
			}
			r := startService(t, w, handlers, service{handle: handle, linger: time.Hour}, Options{})
			peer := r.dialSoon()
			peer.Write([]byte("?"))
			if got, err := io.ReadAll(peer); err != nil || !bytes.Equal(got, full) {
				t.Errorf("%s: got %d bytes, %v, want %d, the same", name, len(got), err, len(full))
			}
			eventually(t, "the connection closed", func() bool { return r.meter.Snapshot().Open == 0 })
			r.stopsCleanly()
		}
	})
}
