// Package rooms is a small IRC server for tests of the checks of chat servers. It passes them, or
// has one fault.
//
// # Limitations
//
// It is only for tests. It has no modes and no flow control, and a history only if configured.
package rooms

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// Faults are the faults that a Server can have. The code of each explains it.
var Faults = []string{"no pong", "takes a nick twice", "no names", "loses", "doubles", "swaps", "changes text", "wrong nick", "wrong room", "sends to all clients",
	"hangs up", "keeps the tail", "leaks after NUL", "reads once", "waits for the slow", "dies of a reset", "says nothing of leaving"}

// Server is an IRC server.
type Server struct {
	Fault   string // one of Faults; empty: none
	Echo    bool   // supports echo-message
	Replay  bool   // sends a room's messages to a client that joins
	History int    // largest page of CHATHISTORY; 0: not supported
	Died    func() // called by the fault "dies of a reset"

	mu            sync.Mutex
	conns         map[*conn]bool
	rooms         map[string][]*conn
	log           map[string][]string // lines by room
	deliveryCount int                 // for faultInterval
	serving       sync.WaitGroup
}

// Serve serves until the listener is closed. Then it closes all connections, and returns when their
// goroutines have ended.
func (s *Server) Serve(l net.Listener) {
	s.conns, s.rooms, s.log = map[*conn]bool{}, map[string][]*conn{}, map[string][]string{}
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		m := &conn{Conn: c, server: s, wake: make(chan struct{}, 1)}
		s.mu.Lock()
		s.conns[m] = true
		s.mu.Unlock()
		s.serving.Go(m.write)
		s.serving.Go(m.read)
	}
	s.mu.Lock()
	for m := range s.conns {
		m.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
}

// conn is a connection. Its two goroutines end with it.
type conn struct {
	net.Conn
	server         *Server
	nick           string
	user           bool
	registered     bool // registration is complete
	capNegotiating bool // registration waits for CAP END
	echo           bool
	messageCount   int

	mu             sync.Mutex
	queue          []byte
	delayedLine    string // delivered after the next ten
	deliveredCount int    // lines delivered by deliverSwapped
	closing        bool
	// sendLine, leave -> write; buffer 1: a signal that the queue changed
	wake chan struct{}
}

// sendLine queues a line, or with the fault "waits for the slow" writes it at once.
func (m *conn) sendLine(line string) {
	if m.server.Fault == "waits for the slow" {
		m.Write([]byte(line + "\r\n")) //nolint:errcheck // read returns the error too
		return
	}
	m.mu.Lock()
	m.queue = append(append(m.queue, line...), "\r\n"...)
	m.mu.Unlock()
	m.wakeWriter()
}

func (m *conn) wakeWriter() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *conn) write() {
	for range m.wake {
		m.mu.Lock()
		queue, over := m.queue, m.closing
		m.queue = nil
		m.mu.Unlock()
		if _, err := m.Write(queue); err != nil || over {
			m.Close()
			return
		}
	}
}

func (m *conn) read() {
	buffer, rest := make([]byte, 4096), []byte(nil)
	for {
		n, err := m.Read(buffer)
		if err != nil {
			m.leave(err)
			return
		}
		rest = append(rest, buffer[:n]...)
		if m.server.Fault == "reads once" {
			rest = append(bytes.TrimRight(rest, "\r\n"), '\n') // takes each read as complete lines
		}
		m.server.mu.Lock()
		rest = m.handleLinesLocked(rest)
		m.server.mu.Unlock()
	}
}

// handleLinesLocked handles the complete lines of in and returns the rest. The caller holds the
// server's lock.
func (m *conn) handleLinesLocked(in []byte) []byte {
	for n := 0; ; n++ {
		end := bytes.IndexByte(in, '\n')
		if end < 0 || m.server.Fault == "keeps the tail" && n == 10 {
			return in
		}
		m.handleLineLocked(string(bytes.TrimRight(in[:end], "\r")))
		in = in[end+1:]
	}
}

// leave removes a connection that has ended.
func (m *conn) leave(err error) {
	s := m.server
	if s.Fault == "dies of a reset" && strings.Contains(err.Error(), "reset") {
		s.Died()
	}
	s.mu.Lock()
	delete(s.conns, m)
	for name, all := range s.rooms {
		if i := slices.Index(all, m); i >= 0 {
			s.rooms[name] = slices.Delete(slices.Clone(all), i, i+1)
			for _, other := range s.rooms[name] {
				if s.Fault != "says nothing of leaving" {
					other.sendLine(":" + m.mask() + " QUIT :gone")
				}
			}
		}
	}
	s.mu.Unlock()
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	m.wakeWriter()
}

func (m *conn) mask() string { return m.nick + "!u@rooms" }

// handleLineLocked executes a command. The caller holds the server's lock.
func (m *conn) handleLineLocked(line string) {
	s := m.server
	if strings.HasPrefix(line, "@") {
		_, line, _ = strings.Cut(line, " ")
	}
	command, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(command) {
	case "CAP":
		m.negotiate(rest)
	case "NICK":
		m.rename(rest)
	case "USER":
		m.user = true
		m.welcome()
	case "PING":
		if s.Fault != "no pong" {
			m.sendLine(":rooms PONG rooms :" + strings.TrimPrefix(rest, ":"))
		}
	case "JOIN":
		m.join(rest)
	case "PRIVMSG":
		m.privmsgLocked(rest)
	case "CHATHISTORY":
		m.history(strings.Fields(rest))
	case "QUIT":
		m.sendLine("ERROR :bye")
		m.mu.Lock()
		m.closing = true
		m.mu.Unlock()
		m.wakeWriter()
	}
}

func (m *conn) negotiate(rest string) {
	s := m.server
	caps := "server-time message-tags"
	if s.Echo {
		caps += " echo-message"
	}
	if s.History > 0 {
		caps += " batch draft/chathistory"
	}
	switch verb, list, _ := strings.Cut(rest, " "); strings.ToUpper(verb) {
	case "LS":
		m.capNegotiating = true
		m.sendLine(":rooms CAP * LS :" + caps)
	case "REQ":
		m.echo = strings.Contains(list, "echo-message")
		m.sendLine(":rooms CAP * ACK " + list)
	case "END":
		m.capNegotiating = false
		m.welcome()
	}
}

func (m *conn) rename(nick string) {
	for other := range m.server.conns {
		if other.nick == nick && m.server.Fault != "takes a nick twice" {
			m.sendLine(":rooms 433 * " + nick + " :in use")
			return
		}
	}
	m.nick = nick
	m.welcome()
}

func (m *conn) welcome() {
	if m.registered || m.capNegotiating || m.nick == "" || !m.user {
		return
	}
	m.registered = true
	m.sendLine(":rooms 001 " + m.nick + " :hello")
	if m.server.History > 0 {
		m.sendLine(fmt.Sprintf(":rooms 005 %s CHATHISTORY=%d :are supported", m.nick, m.server.History))
	}
	m.sendLine(":rooms 422 " + m.nick + " :nothing for today")
}

func (m *conn) join(name string) {
	s := m.server
	s.rooms[name] = append(slices.Clone(s.rooms[name]), m)
	for _, other := range s.rooms[name] {
		other.sendLine(":" + m.mask() + " JOIN " + name)
	}
	if s.Replay {
		for _, line := range s.log[name] {
			m.sendLine(line)
		}
	}
	if s.Fault != "no names" {
		m.sendLine(":rooms 353 " + m.nick + " = " + name + " :" + m.nick)
		m.sendLine(":rooms 366 " + m.nick + " " + name + " :that is all")
	}
}
