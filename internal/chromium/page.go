package chromium

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Page is a page of the browser.
type Page struct {
	t       *testing.T
	ctx     context.Context
	conn    *websocket.Conn
	place   string // id of its browser context
	session string

	mu      sync.Mutex // guards the fields below
	last    int
	answers map[int]chan message // from the reader -> to the caller; capacity 1, never closed
	fetched []string             // URLs
	errors  []string             // of the console, and exceptions
}

// message is a message of the protocol.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// Open opens an empty page, which shares nothing with others and is closed when the test ends. It
// skips the test if there is no Chromium.
func Open(t *testing.T) *Page {
	t.Helper()
	url := browser(t)
	ctx, stop := context.WithTimeout(context.Background(), 8*StepTimeout)
	p := &Page{t: t, ctx: ctx, answers: map[int]chan message{}}
	t.Cleanup(stop)
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	p.conn = conn
	done := make(chan struct{})
	go func() { defer close(done); p.read() }() // ends when the connection does
	t.Cleanup(func() { conn.CloseNow(); <-done })
	var place struct{ BrowserContextID string }
	p.Call("Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, &place)
	var target struct{ TargetID, SessionID string }
	p.Call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": place.BrowserContextID}, &target)
	p.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	p.place, p.session = place.BrowserContextID, target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.Call(domain+".enable", nil, nil)
	}
	// several pages have the focus at once
	p.Call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	return p
}

// Errors returns the page's console errors and warnings, and uncaught exceptions.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errors)
}

// Fetched returns the URLs that the page requested.
func (p *Page) Fetched() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.fetched)
}

// Allow grants pages of an origin, such as "http://127.0.0.1:8080", a permission, such as
// "notifications".
func (p *Page) Allow(origin, permission string) {
	p.t.Helper()
	session := p.session
	p.session = "" // the browser's own session
	p.Call("Browser.grantPermissions", map[string]any{"origin": origin, "permissions": []string{permission}, "browserContextId": p.place}, nil)
	p.session = session
}

// read receives the browser's messages.
func (p *Page) read() {
	for {
		_, text, err := p.conn.Read(p.ctx)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		p.mu.Lock()
		if c := p.answers[m.ID]; c != nil {
			delete(p.answers, m.ID)
			c <- m
		}
		p.noteLocked(m)
		p.mu.Unlock()
	}
}

// noteLocked keeps what the tests ask about. The caller holds mu.
func (p *Page) noteLocked(m message) {
	var v struct {
		Request struct{ URL string }
		Type    string
		Entry   struct{ Level, Text, URL string }
	}
	_ = json.Unmarshal(m.Params, &v)
	switch m.Method {
	case "Network.requestWillBeSent":
		p.fetched = append(p.fetched, v.Request.URL)
	case "Runtime.exceptionThrown":
		p.errors = append(p.errors, string(m.Params))
	case "Runtime.consoleAPICalled":
		if v.Type == "error" || v.Type == "warning" || v.Type == "assert" {
			p.errors = append(p.errors, string(m.Params))
		}
	case "Log.entryAdded":
		if v.Entry.Level == "error" || v.Entry.Level == "warning" {
			p.errors = append(p.errors, v.Entry.Text+" "+v.Entry.URL)
		}
	}
}

// Call asks the browser for something by a method of its protocol. Result may be nil.
func (p *Page) Call(method string, params map[string]any, result any) {
	p.t.Helper()
	answer := make(chan message, 1)
	p.mu.Lock()
	p.last++
	id := p.last
	p.answers[id] = answer
	p.mu.Unlock()
	if params == nil {
		params = map[string]any{}
	}
	ask := map[string]any{"id": id, "method": method, "params": params}
	if p.session != "" {
		ask["sessionId"] = p.session
	}
	text, err := json.Marshal(ask)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.conn.Write(p.ctx, websocket.MessageText, text); err != nil {
		p.t.Fatal(err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			p.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				p.t.Fatal(err)
			}
		}
	case <-time.After(StepTimeout):
		p.t.Fatalf("%s: no answer", method)
	}
}
