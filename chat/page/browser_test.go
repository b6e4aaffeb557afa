package page

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/chromium"
)

var shots = flag.String("shots", "", "write pictures of the page to this folder")

// browser is the page in a browser tab.
type browser struct {
	*chromium.Page
	t *testing.T
}

func open(t *testing.T) *browser {
	t.Helper()
	return &browser{chromium.Open(t), t}
}

// another opens a tab for another user.
func (b *browser) another() *browser { return open(b.t) }

// visit loads the page and logs in.
func (h *host) visit(b *browser, name, password, room string) {
	h.t.Helper()
	b.Size(1280, 800, false)
	b.Go("http://" + h.addr + "/")
	b.logIn(name, password, room)
}

// comeIn fills in the login form.
func (b *browser) logIn(name, password, room string) {
	b.t.Helper()
	kind := map[bool]string{true: "account", false: "guest"}[password != ""]
	b.Click(`#kinds input[value="` + kind + `"]`)
	for _, f := range [][2]string{{"name", name}, {"password", password}, {"first", room}} {
		id, value := f[0], f[1]
		if id == "password" && value == "" {
			continue
		}
		b.Until(fmt.Sprintf(`(document.getElementById(%q).focus(), document.activeElement.select(), document.activeElement.id == %q)`, id, id))
		b.Press("Delete")
		b.Write(value)
	}
	b.Press("Enter")
}

// inRoom waits until a room is shown and joined.
func (b *browser) inRoom(room string) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`document.querySelector("#title").textContent == %q && document.querySelectorAll("#peoplelist li").length > 0`, room))
}

// say types a message and sends it with Enter.
func (b *browser) say(text string) {
	b.t.Helper()
	b.Until(`(document.querySelector("#say").focus(), document.activeElement.id == "say")`)
	b.Write(text)
	b.Press("Enter")
}

const texts = `[...document.querySelectorAll("#log .message:not(.local):not(.waiting) .text")].map((e) => e.textContent)`

// shows waits until exactly these messages are shown.
func (b *browser) shows(want []string) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`JSON.stringify(%s) == JSON.stringify(%s)`, texts, asJSON(want)))
}

func asJSON(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// picture writes a screenshot if a folder is given.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), b.Shot(), 0o644); err != nil {
		b.t.Error(err)
	}
}

// clean checks that the page logged no error and requested nothing from another host.
func (b *browser) clean(h *host) {
	b.t.Helper()
	for _, e := range b.Errors() {
		// a broken connection is not an error of the page
		if !strings.Contains(e, "WebSocket connection") {
			b.t.Errorf("got the error %q in the browser's console, want none", e)
		}
	}
	for _, f := range b.Fetched() {
		if u, err := url.Parse(f); err != nil || u.Host != h.addr && u.Scheme != "data" && f != "about:blank" {
			b.t.Errorf("got a request for %s, want requests to the page's own host only", f)
		}
	}
}

// listen records the lines that the page sends, from the next page load on.
func (b *browser) listen() {
	b.t.Helper()
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.said = []; { const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (text) { said.push(text); send.call(this, text) } }`}, nil)
}

// focus gives an element the focus and waits until it has it.
func (b *browser) focus(selector string) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`(document.querySelector(%[1]q)?.focus(), document.activeElement === document.querySelector(%[1]q))`, selector))
}
