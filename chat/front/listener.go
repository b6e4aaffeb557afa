package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"weir/chat"
	"weir/chat/internal/lobby"
	"weir/internal/certificate"
)

// Config is how a Listener secures connections. It is not changed once Listen has it. The zero
// value of a field but Certificate gives its default.
type Config struct {
	Certificate *certificate.Source
	Proxies     Proxies // whose connections begin by a header, in clear text. Default none

	Wait time.Duration // how long a header and a handshake may take together. Default 10 s
	Most int           // handshakes at once. Default 128
	// of these, those of one address that is not this machine's nor a proxy's. Default 16
	Each int

	// a handshake that failed; called by several goroutines at once, must not block. Nil: nobody
	// hears
	Failed func(from net.Addr, err error)
}

// Listener gives connections by TLS. Its RemoteAddr is for a Door, which every connection needs to
// know who it is.
//
// The goroutine that the first Accept starts accepts, and starts one for each handshake; Close ends
// them all, and returns when they have ended.
type Listener struct {
	inner  net.Listener
	config Config
	tls    *tls.Config
	// a value for each connection from its begin until it was taken; the capacity is Config.Most
	slots chan struct{}

	begin  sync.Once
	group  sync.WaitGroup
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	// from who accepts, and who shakes hands -> Accept; no capacity, never closed
	readyc chan accepted

	mu      sync.Mutex
	shaking *lobby.Lobby[*handshake]
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

// handshake is one that is under way.
type handshake struct {
	conn  net.Conn
	since time.Time
	place *lobby.Place[*handshake]
}

var (
	errTooMany = errors.New("front: too many handshakes from this address")
	errCrowded = errors.New("front: the handshake was slow, and others wait")
)

// Listen makes a listener of one that gives connections in clear text, which it takes over.
func Listen(inner net.Listener, c Config) *Listener {
	setDefault(&c.Wait, 10*time.Second)
	setDefault(&c.Most, 128)
	setDefault(&c.Each, 16)
	if c.Failed == nil {
		c.Failed = func(net.Addr, error) {}
	}
	l := &Listener{inner: inner, config: c, tls: settings(c.Certificate), slots: make(chan struct{}, c.Most),
		readyc: make(chan accepted), shaking: lobby.New[*handshake](c.Most, c.Each)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// settings ask clients for a certificate, which they need not have, and answer ACME's challenges.
func settings(source *certificate.Source) *tls.Config {
	usual := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.Get, ClientAuth: tls.RequestClientCert}
	if !source.Challenged() {
		return usual
	}
	challenge := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.Get, NextProtos: []string{certificate.Challenge}}
	usual.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if certificate.IsChallenge(hello) {
			return challenge, nil
		}
		return nil, nil
	}
	return usual
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	l.begin.Do(func() { l.group.Go(l.accept) })
	select {
	case a := <-l.readyc:
		return a.conn, a.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close implements net.Listener. Handshakes that are under way are given up.
func (l *Listener) Close() error {
	l.begin.Do(func() {})
	l.cancel()
	err := l.inner.Close()
	l.group.Wait()
	return err
}

// accept takes connections until Close.
func (l *Listener) accept() {
	for l.room() {
		conn, err := l.inner.Accept()
		if err != nil {
			<-l.slots
			if !l.give(accepted{err: err}) { // who accepts pauses, or gives up
				return
			}
			continue
		}
		h := &handshake{conn: conn, since: time.Now()}
		l.mu.Lock()
		h.place = l.shaking.Enter(addrOf(conn.RemoteAddr()), l.free(conn.RemoteAddr()), h)
		l.mu.Unlock()
		if h.place == nil {
			conn.Close()
			<-l.slots
			l.config.Failed(conn.RemoteAddr(), errTooMany)
			continue
		}
		l.group.Go(func() { l.shake(h) })
	}
}

// free says whether there may be as many handshakes as there like from an address.
func (l *Listener) free(a net.Addr) bool {
	from := addrOf(a)
	return !from.IsValid() || from.IsLoopback() || l.config.Proxies.Trust(a)
}

// room waits until one more handshake may be, and takes a slot for it. It reports false when the
// listener is closed.
func (l *Listener) room() bool {
	for {
		wait := l.hurry()
		timer := time.NewTimer(wait)
		select {
		case l.slots <- struct{}{}:
			timer.Stop()
			return l.ctx.Err() == nil
		case <-timer.C:
		case <-l.ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// hurry ends the oldest handshake, if there is no slot, and it has taken its time. It returns after
// how long to look again.
func (l *Listener) hurry() time.Duration {
	enough := l.config.Wait / 4
	if len(l.slots) < cap(l.slots) {
		return enough
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h, some := l.shaking.Oldest()
	if !some {
		return enough
	}
	if left := enough - time.Since(h.since); left > 0 {
		return left
	}
	l.shaking.Leave(h.place)
	h.conn.Close()
	return enough
}

// shake is a handshake's goroutine. It ends when the connection was given to Accept, or is closed.
func (l *Listener) shake(h *handshake) {
	defer func() { <-l.slots }()
	stop := context.AfterFunc(l.ctx, func() { h.conn.Close() })
	conn, err := l.secure(h)
	stop() // what Accept has had is not ours to end
	l.mu.Lock()
	crowded := !l.shaking.Leave(h.place)
	l.mu.Unlock()
	if crowded {
		err = errCrowded
	}
	if err != nil {
		h.conn.Close()
		if l.ctx.Err() == nil {
			l.config.Failed(h.conn.RemoteAddr(), err)
		}
		return
	}
	if conn == nil || !l.give(accepted{conn: conn}) {
		h.conn.Close()
	}
}

// give hands something to Accept. It reports false when the listener is closed.
func (l *Listener) give(a accepted) bool {
	select {
	case l.readyc <- a:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// secure reads a proxy's header, if there has to be one, and shakes hands. It returns nil for a
// connection that has served its purpose.
func (l *Listener) secure(h *handshake) (net.Conn, error) {
	h.conn.SetDeadline(h.since.Add(l.config.Wait))
	raw, who, err := l.announced(h.conn)
	if err != nil {
		return nil, err
	}
	t := tls.Server(raw, l.tls)
	if err := t.HandshakeContext(l.ctx); err != nil {
		explain(err)
		return nil, err
	}
	state := t.ConnectionState()
	if state.NegotiatedProtocol == certificate.Challenge {
		return nil, nil // the certificate was the answer
	}
	peer := chat.Peer{Addr: who.addr, Secure: true}
	if len(state.PeerCertificates) > 0 {
		peer.Fingerprint = certificate.Fingerprint(state.PeerCertificates[0].Raw)
	}
	h.conn.SetDeadline(time.Time{})
	return &secured{t, &caller{h.conn.RemoteAddr(), peer}}, nil
}

// announced reads the header of a proxy's connection. It returns the connection behind it.
func (l *Listener) announced(conn net.Conn) (net.Conn, origin, error) {
	own := origin{addr: addrOf(conn.RemoteAddr())}
	if !l.config.Proxies.Trust(conn.RemoteAddr()) {
		return conn, own, nil
	}
	var in []byte
	for {
		part := make([]byte, 512)
		n, err := conn.Read(part)
		in = append(in, part[:n]...)
		if n > 0 {
			who, n, err := parseHeader(in)
			if err == nil && n > 0 && !who.addr.IsValid() {
				who = own
			}
			if err != nil || n > 0 {
				return &ahead{conn, in[n:]}, who, err
			}
		}
		if err != nil {
			return nil, own, err
		}
	}
}

// explain tells a client that speaks without TLS what is wrong.
func explain(err error) {
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && record.Conn != nil {
		io.WriteString(record.Conn, "ERROR :Closing link (this port is for TLS: have your client use it)\r\n")
	}
}

// ahead is a connection of which some was read already.
type ahead struct {
	net.Conn
	rest []byte
}

// Read implements net.Conn.
func (a *ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		return a.Conn.Read(p)
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// secured is a connection by TLS.
type secured struct {
	*tls.Conn
	from *caller
}

// RemoteAddr implements net.Conn.
func (s *secured) RemoteAddr() net.Addr { return s.from }
