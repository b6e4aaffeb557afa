package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	agentUser       = "agent"
	coordinatorUser = "coordinator"
	// the coordinator's own prefix of subjects for replies: agents cannot subscribe to it
	coordinatorInbox = "_COORDINATOR"

	// MaxAgents is the largest number of agents of a coordinator.
	MaxAgents = 256
	// maxConnections leaves room for agents beside strangers, whose connections end after 5 s
	maxConnections = 4096
	readyTimeout   = 10 * time.Second
	// for an agent to connect
	connectTimeout = 5 * time.Second
	pingInterval   = 2 * time.Second // both sides; three without an answer close a connection
)

// startServer starts a NATS server that accepts agents with the token, and the coordinator itself
// with own.
func startServer(address string, cert tls.Certificate, token, own string) (*server.Server, error) {
	host, text, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("agent: the address %q is not that at which agents reach this machine: give HOST:PORT", address)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("agent: the port %q is invalid: give a number from 0, any, to 65535", text)
	}
	if err := tryListen(address); err != nil {
		return nil, err
	}
	listen := int(port)
	if listen == 0 {
		listen = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "weir", Host: host, Port: listen, NoLog: true, NoSigs: true, NoSystemAccount: true,
		TLS: true, TLSHandshakeFirst: true, TLSTimeout: 5, AuthTimeout: 5,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}},
		Users:     users(token, own),
		MaxConn:   maxConnections, MaxSubs: 16 * MaxAgents, MaxPayload: maxMessage, MaxPending: 4 * maxMessage,
		WriteDeadline: 5 * time.Second, PingInterval: pingInterval, MaxPingsOut: 3,
	})
	if err != nil {
		return nil, fmt.Errorf("agent: cannot make the server for agents: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(readyTimeout) {
		stopServer(s)
		return nil, fmt.Errorf("agent: cannot listen on %s: is the port in use, and the address of this machine?", address)
	}
	return s, nil
}

// tryListen returns at once why nothing can listen on an address. The NATS server would only not
// become ready.
func tryListen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("agent: cannot listen on %s: %w: give a free port, and an address of this machine", address, err)
	}
	return l.Close()
}

// users returns who may connect, and what each may do.
func users(token, own string) []*server.User {
	return []*server.User{
		{Username: coordinatorUser, Password: own},
		{Username: agentUser, Password: token, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{coordinatorSubject + ">"}},
			Subscribe: &server.SubjectPermission{Allow: []string{agentSubject + ">", nats.InboxPrefix + ">"}},
			Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute},
		}},
	}
}

func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// connectInside connects the coordinator to its own server, without a socket.
func connectInside(s *server.Server, own string, failed nats.ErrHandler) (*nats.Conn, error) {
	c, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo(coordinatorUser, own), nats.NoReconnect(),
		nats.CustomInboxPrefix(coordinatorInbox), nats.ErrorHandler(failed))
	if err != nil {
		return nil, fmt.Errorf("agent: cannot connect to the own server: %w", err)
	}
	return c, nil
}

// dialer dials until ctx ends, which also closes its connection.
type dialer struct {
	ctx    context.Context
	failed error // why the last dial failed; nil: it did not
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (c net.Conn, err error) {
	c, d.failed = (&net.Dialer{Timeout: connectTimeout}).DialContext(d.ctx, network, address)
	if d.failed == nil {
		context.AfterFunc(d.ctx, func() { c.Close() })
	}
	return c, d.failed
}

// kick closes the connections with a name.
func kick(s *server.Server, name string) {
	list, err := s.Connz(&server.ConnzOptions{Limit: maxConnections})
	if err != nil {
		return
	}
	for _, c := range list.Conns {
		if c.Name == name {
			s.DisconnectClientByID(c.Cid) //nolint:errcheck // it has ended otherwise
		}
	}
}

// connect connects an agent to its coordinator. It calls closed when the connection has ended. The
// end of ctx ends it.
func connect(ctx context.Context, c *ServeConfig, closed func()) (*nats.Conn, error) {
	settings, err := pinned(c.Fingerprint)
	if err != nil {
		return nil, err
	}
	dial := &dialer{ctx: ctx}
	conn, err := nats.Connect(c.URL, nats.UserInfo(agentUser, c.Token), nats.Secure(settings), nats.TLSHandshakeFirst(), nats.NoReconnect(),
		nats.Timeout(connectTimeout), nats.SetCustomDialer(dial), nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(3), nats.Name(c.connection),
		nats.ClosedHandler(func(*nats.Conn) { closed() }), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("the coordinator at %s rejects the token: take the one of its present run", c.URL)
	case err != nil && dial.failed != nil: // the client only says that it has no server
		return nil, fmt.Errorf("cannot connect to the coordinator at %s: %w: start this agent while the run waits for agents, and take the line that it shows", c.URL, dial.failed)
	case err != nil:
		return nil, fmt.Errorf("cannot connect to the coordinator at %s: %w", c.URL, err)
	}
	return conn, nil
}
