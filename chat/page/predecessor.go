package page

import (
	"net/url"
	"sync"
)

// A client that gives a connection up connects again, and sends the messages again that the history
// lacks. A browser cannot reset a WebSocket: the messages that it had sent on the old connection
// may still arrive, and would be stored twice. So a client names itself in the URL,
// /irc?client=ID. Its new connection first ends the old one: after that, nothing arrives there.

// Length of a client's id. It is a secret of the client: another client that knows it can end its
// connection.
const (
	minClientID = 16
	maxClientID = 64
)

// clientID returns the id in the query of a client's URL, "" if there is none.
func clientID(query url.Values) string {
	if id := query.Get("client"); minClientID <= len(id) && len(id) <= maxClientID {
		return id
	}
	return ""
}

// liveClients has the open connections of the clients that have an id.
type liveClients struct {
	mu   sync.Mutex
	byID map[string]*liveClient
}

// liveClient is the connection of a client.
type liveClient struct {
	cut   func()          // ends the connection; it may be called more than once
	ended <-chan struct{} // closed when its session has ended
}

// replace stores the connection of a client and returns its predecessor, nil if there is none.
func (l *liveClients) replace(id string, c *liveClient) *liveClient {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.byID[id]
	if l.byID == nil {
		l.byID = map[string]*liveClient{}
	}
	l.byID[id] = c
	return before
}

// remove removes a connection that has ended, unless another one has replaced it.
func (l *liveClients) remove(id string, c *liveClient) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID[id] == c {
		delete(l.byID, id)
	}
}

// endPredecessor ends the connection that c replaces and waits until its session has ended, or the
// page is closed. The caller calls leave when c has ended.
func (p *Page) endPredecessor(id string, c *liveClient) (leave func()) {
	if before := p.clients.replace(id, c); before != nil {
		before.cut()
		select {
		case <-before.ended:
		case <-p.connQueue.closed:
		}
	}
	return func() { p.clients.remove(id, c) }
}
