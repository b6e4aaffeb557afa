package page

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// patience is how long a step in the browser may take on a busy machine.
const patience = time.Minute

// browser is a page in a headless Chromium, driven by its DevTools protocol.
type browser struct {
	t       *testing.T
	ctx     context.Context
	conn    *websocket.Conn
	session string
	url     string // of the browser's protocol

	mu      sync.Mutex // guards what follows
	last    int
	answers map[int]chan message // from the reader -> to who asked; capacity 1, never closed
	fetched []string             // URLs
	errors  []string             // of the console, and exceptions
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// open starts Chromium with an empty page. The test is skipped where there is none.
func open(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium here: the page is not tested (scripts/setup test gets it)")
	}
	return attach(t, start(t, program))
}

// another is a page for somebody else in the same browser: it shares nothing with the first.
func (b *browser) another() *browser { return attach(b.t, b.url) }

// attach opens an empty page of its own in the browser whose protocol has that address.
func attach(t *testing.T, url string) *browser {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 8*patience)
	b := &browser{t: t, ctx: ctx, url: url, answers: map[int]chan message{}}
	t.Cleanup(stop)
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	b.conn = conn
	done := make(chan struct{})
	go func() { defer close(done); b.read() }() // ends when the connection does
	t.Cleanup(func() { conn.CloseNow(); <-done })
	var place struct{ BrowserContextID string }
	b.call("Target.createBrowserContext", nil, &place)
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": place.BrowserContextID}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // pages of different people are all looked at
	return b
}

// start starts Chromium in a process group of its own, and gives the address of its protocol. The group ends with the test.
func start(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-crash-reporter",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	address := make(chan string, 1) // from the reader of its standard error -> to us; closed at its end
	go func() {
		defer close(address)
		address <- listening(r)
		_, _ = io.Copy(io.Discard, r)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		r.Close()
		for range address {
		}
		// Its other processes are dying, and may still make files. Where nobody reaps them they stay, dead.
		for end := time.Now().Add(2 * time.Second); syscall.Kill(-cmd.Process.Pid, 0) == nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		for end := time.Now().Add(patience); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	select {
	case url := <-address:
		if !strings.HasPrefix(url, "ws://") {
			t.Fatalf("Chromium ended at once: %s", url)
		}
		return url
	case <-time.After(patience):
		t.Fatal("Chromium does not say where it listens")
	}
	return ""
}

// listening is the address that a browser's standard error names, or all that it said when it ended without.
func listening(stderr io.Reader) string {
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			return url
		}
		fmt.Fprintln(&said, lines.Text())
	}
	return said.String()
}

// read takes what the browser says.
func (b *browser) read() {
	for {
		_, text, err := b.conn.Read(b.ctx)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.answers[m.ID]; c != nil {
			delete(b.answers, m.ID)
			c <- m
		}
		b.note(m)
		b.mu.Unlock()
	}
}

// note keeps what the tests ask about. The caller holds mu.
func (b *browser) note(m message) {
	var p struct {
		Request struct{ URL string }
		Type    string
		Entry   struct{ Level, Text, URL string }
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "Network.requestWillBeSent":
		b.fetched = append(b.fetched, p.Request.URL)
	case "Runtime.exceptionThrown":
		b.errors = append(b.errors, string(m.Params))
	case "Runtime.consoleAPICalled":
		if p.Type == "error" || p.Type == "warning" || p.Type == "assert" {
			b.errors = append(b.errors, string(m.Params))
		}
	case "Log.entryAdded":
		if p.Entry.Level == "error" || p.Entry.Level == "warning" {
			b.errors = append(b.errors, p.Entry.Text+" "+p.Entry.URL)
		}
	}
}

// call asks the browser for something.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.answers[id] = answer
	b.mu.Unlock()
	ask := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		ask["params"] = map[string]any{}
	}
	if b.session != "" {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.conn.Write(b.ctx, websocket.MessageText, text); err != nil {
		b.t.Fatal(err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
	case <-time.After(patience):
		b.t.Fatalf("%s: no answer", method)
	}
}

// eval is the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	var r struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	return r.Result.Value
}

// until waits until an expression holds in the page.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](b, "!!("+expression+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("still not: %s\n%s", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

// click presses the mouse in the middle of an element.
func (b *browser) click(selector string) {
	b.t.Helper()
	at := eval[struct{ X, Y float64 }](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", inline: "center"});
		const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })()`, selector))
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// write writes text where the focus is.
func (b *browser) write(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	p := map[string]any{"key": key, "code": key}
	if key == "Enter" {
		p["text"] = "\r"
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		p["type"] = kind
		b.call("Input.dispatchKeyEvent", p, nil)
	}
}

// size makes the window so wide and high, and its user one who likes the dark or not.
func (b *browser) size(width, height int, dark bool) {
	b.t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// shot is a picture of the whole page, a PNG.
func (b *browser) shot() []byte {
	b.t.Helper()
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &r)
	picture, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}
