package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"weir/chat/client"
	"weir/chat/client/link"
	"weir/tcpip/netsim"
)

// dialer opens a connection to the chat.
type dialer func(context.Context) (net.Conn, error)

// overTCP connects by IRC.
func overTCP(h *netsim.Host) dialer {
	return func(ctx context.Context) (net.Conn, error) { return h.DialContext(ctx, "tcp", "server:6667") }
}

// overBrowser connects by IRC over WebSocket, as the script of the page does with the id of its
// client. It cannot reset a connection that it gives up: what it has sent there may arrive later.
func overBrowser(h *netsim.Host, id string) dialer {
	return func(ctx context.Context) (net.Conn, error) {
		ws, _, err := websocket.Dial(ctx, "ws://server/irc?client="+id, &websocket.DialOptions{HTTPClient: &http.Client{Transport: h.Transport()}, Subprotocols: []string{"text.ircv3.net"}})
		if err != nil {
			return nil, err
		}
		return &lineSocket{ws: ws}, nil
	}
}

// lineSocket is a WebSocket as a connection of lines. It has those methods that package link calls.
type lineSocket struct {
	net.Conn
	ws     *websocket.Conn
	unread []byte
}

func (s *lineSocket) Read(p []byte) (int, error) {
	if len(s.unread) == 0 {
		_, line, err := s.ws.Read(context.Background())
		if err != nil {
			return 0, err
		}
		s.unread = append(line, '\n')
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

func (s *lineSocket) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if err := s.ws.Write(context.Background(), websocket.MessageText, bytes.TrimRight(line, "\r\n")); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (s *lineSocket) Close() error { return s.ws.CloseNow() }

// person is a user of a client of package client. One goroutine owns the client; do runs a function
// in it.
type person struct {
	w       *netsim.World
	name    string
	client  *client.Client
	conn    *link.Conn // nil while it is not connected
	tap     tap
	read    time.Time // the latest read marker that was seen
	said    []string  // in the room, in the order of their sending
	sentTo  []string  // to the other account
	signals chan any  // from the link -> owner
	calls   chan func()
}

// startPerson starts a client. account is NAME@DEVICE, or "" for a guest.
func startPerson(w *netsim.World, name, account string, dial dialer) *person {
	config := client.Config{Nick: name, Account: account, Rooms: []string{room}, Nonce: name}
	if account != "" {
		config.Password = password
	}
	p := &person{w: w, name: name, client: client.New(config), tap: tap{w: w, name: name}, signals: make(chan any), calls: make(chan func())}
	go p.own(w.Context()) // until the end of the world
	go link.Run(w.Context(), dial, func(signal any) {
		select {
		case p.signals <- signal:
		case <-w.Context().Done():
		}
	})
	return p
}

// own runs the client.
func (p *person) own(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case signal := <-p.signals:
			p.handle(signal)
		case now := <-tick.C:
			p.client.Tick(now)
		case call := <-p.calls:
			call()
		}
		p.flush()
	}
}

// handle handles a signal of the link.
func (p *person) handle(signal any) {
	switch s := signal.(type) {
	case link.Up:
		p.conn = s.Conn
		p.tap.connected()
		p.client.Connected(time.Now())
	case link.Lines:
		for _, line := range s {
			p.tap.line(line)
			p.client.HandleLine(line, time.Now())
		}
	case link.Down:
		p.conn = nil
		p.w.Logf("%s: offline: %v", p.name, s.Err)
		p.client.Disconnected(s.Err)
	}
}

// flush sends what the client wants to send, and checks its read marker.
func (p *person) flush() {
	for _, e := range p.client.Events() {
		switch e.Kind {
		case client.CommandFailed:
			p.w.Errorf("%s: got a failed command %s: %s", p.name, e.Command, e.Text)
		case client.StateChanged:
			if p.client.State() == client.Online && p.conn != nil {
				p.conn.MarkHealthy()
			}
		}
	}
	if out := p.client.Output(); len(out) > 0 && p.conn != nil {
		p.conn.Send(out)
	}
	if p.client.MustClose() && p.conn != nil {
		p.conn.Close()
	}
	if v := p.client.Find(room); v != nil {
		if v.ReadUntil.Before(p.read) {
			p.w.Errorf("%s: got a read marker that moves back from %v to %v", p.name, p.read, v.ReadUntil)
		}
		p.read = v.ReadUntil
	}
}

// do runs a function in the owner's goroutine, and waits for it.
func (p *person) do(call func(v *client.Conversation)) {
	done := make(chan struct{}) // closed by the owner
	select {
	case p.calls <- func() { defer close(done); call(p.client.Find(room)) }:
		<-done
	case <-p.w.Context().Done():
	}
}

// say sends the next message.
func (p *person) say() {
	p.do(func(v *client.Conversation) {
		text := fmt.Sprintf("%s says %d", p.name, len(p.said))
		p.said = append(p.said, text)
		p.client.Send(v, client.TextMessage, text)
	})
}

// tell sends the next direct message to an account.
func (p *person) tell(account string) {
	p.do(func(*client.Conversation) {
		text := fmt.Sprintf("%s tells %d", p.name, len(p.sentTo))
		p.sentTo = append(p.sentTo, text)
		p.client.Send(p.client.OpenDirect(account), client.TextMessage, text)
	})
}

// markRead marks all messages as read.
func (p *person) markRead() { p.do(p.client.MarkRead) }

// shown returns the texts that the client shows of a conversation.
func (p *person) shown(name string) (texts []string) {
	p.do(func(*client.Conversation) {
		v := p.client.Find(name)
		for i := 0; v != nil && i < len(v.Messages); i++ {
			if m := v.Messages[i]; m.Kind == client.TextMessage {
				texts = append(texts, m.Text)
			}
		}
	})
	return texts
}

// unsent returns the texts that the server has not acknowledged yet.
func (p *person) unsent() (texts []string) {
	p.do(func(*client.Conversation) {
		for _, v := range p.client.Conversations() {
			texts = append(texts, v.Unsent()...)
		}
	})
	return texts
}

// unread returns the texts after the read marker.
func (p *person) unread() (texts []string) {
	p.do(func(v *client.Conversation) {
		for _, m := range v.Messages {
			if m.Kind == client.TextMessage && m.Time.After(v.ReadUntil) {
				texts = append(texts, m.Text)
			}
		}
	})
	return texts
}
