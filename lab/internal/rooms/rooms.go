// Package rooms is a small IRC server for tests: it does what the checks of chat servers ask for,
// or fails in one way.
//
// # Limitations
//
// It is for tests alone. It keeps no history unless told to, knows no modes, and waits for nothing.
package rooms

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// Faults are the ways in which a Server can fail; what each does stands where it is done.
var Faults = []string{"no pong", "takes a nick twice", "no names", "loses", "doubles", "swaps", "changes text", "wrong nick", "wrong room", "tells everybody",
	"hangs up", "keeps the tail", "leaks after NUL", "reads once", "waits for the slow", "dies of a reset", "says nothing of leaving"}

// Server is a server and what it knows.
type Server struct {
	Fault   string // one of Faults, or empty
	Echo    bool   // it has echo-message
	Replay  bool   // it tells a room's messages to who joins; else, with History, by CHATHISTORY
	History int    // most messages in a page of CHATHISTORY; 0: it has none
	Died    func() // called where the fault is to die

	mu      sync.Mutex
	conns   map[*conn]bool
	rooms   map[string][]*conn
	log     map[string][]string // lines
	told    int                 // deliveries
	serving sync.WaitGroup
}

// Serve serves until the listener is closed; then it closes every connection, and returns when all
// are over.
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
	server *Server
	nick   string
	user   bool
	in     bool // registered
	held   bool // registration waits for CAP END
	echo   bool
	said   int

	mu    sync.Mutex
	queue []byte
	late  string // a line that is held back
	heard int    // lines that may be
	over  bool
	wake  chan struct{} // anybody -> write; 1 is enough to say that there is something
}

// tell queues a line without waiting, or with one fault waits until it is sent.
func (m *conn) tell(line string) {
	if m.server.Fault == "waits for the slow" {
		m.Write([]byte(line + "\r\n")) //nolint:errcheck // its reader notices
		return
	}
	m.mu.Lock()
	m.queue = append(append(m.queue, line...), "\r\n"...)
	m.mu.Unlock()
	m.stir()
}

func (m *conn) stir() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *conn) write() {
	for range m.wake {
		m.mu.Lock()
		queue, over := m.queue, m.over
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
			rest = append(bytes.TrimRight(rest, "\r\n"), '\n') // what one read brings is whole
		}
		m.server.mu.Lock()
		rest = m.lines(rest)
		m.server.mu.Unlock()
	}
}

// lines hears the whole lines of in and returns the rest.
func (m *conn) lines(in []byte) []byte {
	for n := 0; ; n++ {
		end := bytes.IndexByte(in, '\n')
		if end < 0 || m.server.Fault == "keeps the tail" && n == 10 {
			return in
		}
		m.hear(string(bytes.TrimRight(in[:end], "\r")))
		in = in[end+1:]
	}
}

// leave is the end of a connection.
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
					other.tell(":" + m.mask() + " QUIT :gone")
				}
			}
		}
	}
	s.mu.Unlock()
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
	m.stir()
}

func (m *conn) mask() string { return m.nick + "!u@rooms" }

// hear does what a line says. The server's lock is held.
func (m *conn) hear(line string) {
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
			m.tell(":rooms PONG rooms :" + strings.TrimPrefix(rest, ":"))
		}
	case "JOIN":
		m.join(rest)
	case "PRIVMSG":
		m.privmsg(rest)
	case "CHATHISTORY":
		m.history(strings.Fields(rest))
	case "QUIT":
		m.tell("ERROR :bye")
		m.mu.Lock()
		m.over = true
		m.mu.Unlock()
		m.stir()
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
		m.held = true
		m.tell(":rooms CAP * LS :" + caps)
	case "REQ":
		m.echo = strings.Contains(list, "echo-message")
		m.tell(":rooms CAP * ACK " + list)
	case "END":
		m.held = false
		m.welcome()
	}
}

func (m *conn) rename(nick string) {
	for other := range m.server.conns {
		if other.nick == nick && m.server.Fault != "takes a nick twice" {
			m.tell(":rooms 433 * " + nick + " :in use")
			return
		}
	}
	m.nick = nick
	m.welcome()
}

func (m *conn) welcome() {
	if m.in || m.held || m.nick == "" || !m.user {
		return
	}
	m.in = true
	m.tell(":rooms 001 " + m.nick + " :hello")
	if m.server.History > 0 {
		m.tell(fmt.Sprintf(":rooms 005 %s CHATHISTORY=%d :are supported", m.nick, m.server.History))
	}
	m.tell(":rooms 422 " + m.nick + " :nothing for today")
}

func (m *conn) join(name string) {
	s := m.server
	s.rooms[name] = append(slices.Clone(s.rooms[name]), m)
	for _, other := range s.rooms[name] {
		other.tell(":" + m.mask() + " JOIN " + name)
	}
	if s.Replay {
		for _, line := range s.log[name] {
			m.tell(line)
		}
	}
	if s.Fault != "no names" {
		m.tell(":rooms 353 " + m.nick + " = " + name + " :" + m.nick)
		m.tell(":rooms 366 " + m.nick + " " + name + " :that is all")
	}
}
