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

// Config configures a Listener. It is immutable after Listen. The zero value of a field other than
// Certificate selects its default.
type Config struct {
	Certificate *certificate.Source
	// proxies whose connections start with a header, in clear text. Default none
	Proxies Proxies

	HandshakeTimeout time.Duration // time limit of header and handshake together. Default 10 s
	MaxHandshakes    int           // limit on running handshakes. Default 128
	// limit on running handshakes of one address; loopback and proxies have none. Default 16
	MaxPerAddress int

	// called for each failed handshake, by several goroutines at once; must not block. nil: no call
	OnFailure func(from net.Addr, err error)
}

// Listener accepts connections by TLS. Their RemoteAddr identifies the client to a Door, which
// opens their sessions.
//
// The first Accept starts a goroutine that accepts connections and starts a goroutine for each
// handshake. Close ends them all and waits for them.
type Listener struct {
	inner  net.Listener
	config Config
	tls    *tls.Config
	// one value for each connection before Accept returns it; capacity Config.Most
	slots chan struct{}

	startOnce sync.Once
	group     sync.WaitGroup
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	// accept and handshake goroutines -> Accept; unbuffered, never closed
	readyc chan accepted

	mu         sync.Mutex
	handshakes *lobby.Lobby[*handshake]
}

// accepted is a result of Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// handshake is a running handshake.
type handshake struct {
	conn  net.Conn
	since time.Time
	place *lobby.Place[*handshake]
}

var (
	errTooMany = errors.New("front: too many handshakes from this address")
	errCrowded = errors.New("front: the handshake was slow and others waited")
)

// Listen returns a TLS listener on a clear-text listener, which it owns from now on.
func Listen(inner net.Listener, c Config) *Listener {
	setDefault(&c.HandshakeTimeout, 10*time.Second)
	setDefault(&c.MaxHandshakes, 128)
	setDefault(&c.MaxPerAddress, 16)
	if c.OnFailure == nil {
		c.OnFailure = func(net.Addr, error) {}
	}
	l := &Listener{inner: inner, config: c, tls: tlsConfig(c.Certificate), slots: make(chan struct{}, c.MaxHandshakes),
		readyc: make(chan accepted), handshakes: lobby.New[*handshake](c.MaxHandshakes, c.MaxPerAddress)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// tlsConfig returns a configuration that requests, but does not require, a client certificate, and
// answers ACME's TLS-ALPN-01 challenges (RFC 8737).
func tlsConfig(source *certificate.Source) *tls.Config {
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
	l.startOnce.Do(func() { l.group.Go(l.accept) })
	select {
	case a := <-l.readyc:
		return a.conn, a.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close implements net.Listener. It aborts running handshakes.
func (l *Listener) Close() error {
	l.startOnce.Do(func() {})
	l.cancel()
	err := l.inner.Close()
	l.group.Wait()
	return err
}

// accept accepts connections until Close.
func (l *Listener) accept() {
	for l.takeSlot() {
		conn, err := l.inner.Accept()
		if err != nil {
			<-l.slots
			if !l.give(accepted{err: err}) { // the caller of Accept pauses or stops
				return
			}
			continue
		}
		h := &handshake{conn: conn, since: time.Now()}
		l.mu.Lock()
		h.place = l.handshakes.Enter(addrOf(conn.RemoteAddr()), l.isUnlimited(conn.RemoteAddr()), h)
		l.mu.Unlock()
		if h.place == nil {
			conn.Close()
			<-l.slots
			l.config.OnFailure(conn.RemoteAddr(), errTooMany)
			continue
		}
		l.group.Go(func() { l.shake(h) })
	}
}

// isUnlimited reports whether handshakes of an address have no limit of their own.
func (l *Listener) isUnlimited(a net.Addr) bool {
	from := addrOf(a)
	return !from.IsValid() || from.IsLoopback() || l.config.Proxies.Trust(a)
}

// takeSlot waits until another handshake may start, and reports whether it took a slot for it:
// after Close it does not.
func (l *Listener) takeSlot() bool {
	for {
		wait := l.abortOldest()
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

// abortOldest aborts the oldest handshake if there is no free slot and it has taken a quarter of
// its time. It returns when to check again.
func (l *Listener) abortOldest() time.Duration {
	enough := l.config.HandshakeTimeout / 4
	if len(l.slots) < cap(l.slots) {
		return enough
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h, some := l.handshakes.Oldest()
	if !some {
		return enough
	}
	if left := enough - time.Since(h.since); left > 0 {
		return left
	}
	l.handshakes.Leave(h.place)
	h.conn.Close()
	return enough
}

// shake is the goroutine of a handshake. It ends when Accept has the connection, or it is closed.
func (l *Listener) shake(h *handshake) {
	defer func() { <-l.slots }()
	stop := context.AfterFunc(l.ctx, func() { h.conn.Close() })
	conn, err := l.secure(h)
	stop() // a connection that Accept returned stays open
	l.mu.Lock()
	crowded := !l.handshakes.Leave(h.place)
	l.mu.Unlock()
	if crowded {
		err = errCrowded
	}
	if err != nil {
		h.conn.Close()
		if l.ctx.Err() == nil {
			l.config.OnFailure(h.conn.RemoteAddr(), err)
		}
		return
	}
	if conn == nil || !l.give(accepted{conn: conn}) {
		h.conn.Close()
	}
}

// give passes a result to Accept. It reports whether that was before Close.
func (l *Listener) give(a accepted) bool {
	select {
	case l.readyc <- a:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// secure reads a proxy's header, if one is required, and runs the handshake. It returns nil for a
// connection of an ACME challenge.
func (l *Listener) secure(h *handshake) (net.Conn, error) {
	h.conn.SetDeadline(h.since.Add(l.config.HandshakeTimeout))
	raw, who, err := l.readHeader(h.conn)
	if err != nil {
		return nil, err
	}
	t := tls.Server(raw, l.tls)
	if err := t.HandshakeContext(l.ctx); err != nil {
		sendPlainError(err)
		return nil, err
	}
	state := t.ConnectionState()
	if state.NegotiatedProtocol == certificate.Challenge {
		return nil, nil // the certificate was the answer to the challenge
	}
	peer := chat.Peer{Addr: who.addr, Secure: true}
	if len(state.PeerCertificates) > 0 {
		peer.Fingerprint = certificate.Fingerprint(state.PeerCertificates[0].Raw)
	}
	h.conn.SetDeadline(time.Time{})
	return &securedConn{t, &peerAddr{h.conn.RemoteAddr(), peer}}, nil
}

// readHeader reads the PROXY header of a connection from a proxy. It returns the connection behind
// the header.
func (l *Listener) readHeader(conn net.Conn) (net.Conn, origin, error) {
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
				return &prefixedConn{conn, in[n:]}, who, err
			}
		}
		if err != nil {
			return nil, own, err
		}
	}
}

// sendPlainError sends an error in clear text to a client that does not use TLS.
func sendPlainError(err error) {
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && record.Conn != nil {
		io.WriteString(record.Conn, "ERROR :Closing link (this port requires TLS: enable it in your client)\r\n")
	}
}

// prefixedConn is a connection whose first bytes were read already.
type prefixedConn struct {
	net.Conn
	rest []byte
}

// Read implements net.Conn.
func (a *prefixedConn) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		return a.Conn.Read(p)
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// securedConn is a connection by TLS.
type securedConn struct {
	*tls.Conn
	from *peerAddr
}

// RemoteAddr implements net.Conn.
func (s *securedConn) RemoteAddr() net.Addr { return s.from }
