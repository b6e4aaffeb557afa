package page

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/chat"
)

var shots = flag.String("shots", "", "write pictures of the page to this folder")

// visit opens the page and comes in.
func (h *host) visit(b *browser, name, password, room string) {
	h.t.Helper()
	b.size(1280, 800, false)
	b.call("Page.navigate", map[string]any{"url": "http://" + h.addr + "/"}, nil)
	b.until(`document.readyState == "complete" && document.querySelector("#door")`)
	for id, value := range map[string]string{"name": name, "password": password, "first": room} {
		b.until(fmt.Sprintf(`(document.getElementById(%q).focus(), document.activeElement.select(), document.activeElement.id == %q)`, id, id))
		b.press("Delete")
		b.write(value)
	}
	b.press("Enter")
}

// inRoom waits until a room is shown and joined.
func (b *browser) inRoom(room string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.querySelector("#title").textContent == %q && document.querySelectorAll("#peoplelist li").length > 0`, room))
}

// say writes a message and sends it by the keyboard.
func (b *browser) say(text string) {
	b.t.Helper()
	b.until(`(document.querySelector("#say").focus(), document.activeElement.id == "say")`)
	b.write(text)
	b.press("Enter")
}

const texts = `[...document.querySelectorAll("#log .message:not(.local):not(.waiting) .text")].map((e) => e.textContent)`

// shows waits until the messages that are shown are these.
func (b *browser) shows(want []string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`JSON.stringify(%s) == JSON.stringify(%s)`, texts, asJSON(want)))
}

func asJSON(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// picture writes a picture, if there is a folder for it.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), b.shot(), 0o644); err != nil {
		b.t.Error(err)
	}
}

// clean checks that the page said no error, and asked no other host for anything.
func (b *browser) clean(h *host) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		if !strings.Contains(e, "WebSocket connection") { // that it was cut is no error of the page's
			b.t.Errorf("the browser's console: %s", e)
		}
	}
	for _, f := range b.fetched {
		if u, err := url.Parse(f); err != nil || u.Host != h.addr && u.Scheme != "data" && f != "about:blank" {
			b.t.Errorf("the page asked for %s", f)
		}
	}
}

// Two people talk: one with an account, one as a guest.
func TestTalking(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	h.account("ann", "correct horse")
	ann := open(t)
	bob := ann.another()

	h.visit(ann, "ann", "wrong password", "#lobby")
	ann.until(`document.querySelector("#refused").textContent == "The name or the password is wrong."`)
	ann.picture("door")
	h.visit(ann, "ann", "correct horse", "#lobby")
	ann.inRoom("#lobby")
	h.visit(bob, "bob", "", "lobby")
	bob.inRoom("#lobby")
	ann.until(`document.querySelector("#peoplelist").innerText.includes("bob")`)

	want := []string{"hello <b>bob</b> <img src=x onerror=alert(1)>", "https://example.org/a_(b)?c=d, see?", "waves"}
	ann.say(want[0])
	ann.say("hello again")
	bob.shows([]string{want[0], "hello again"})
	if n := eval[int](bob, `document.querySelectorAll("#log b, #log img, #log script").length`); n != 0 {
		t.Errorf("%d elements came out of a message's text", n)
	}
	bob.say(want[1])
	bob.say("/me " + want[2])
	ann.shows([]string{want[0], "hello again", want[1], want[2]})
	if got := eval[[]string](ann, `[...document.querySelectorAll("#log a")].map((a) => a.href + " " + a.rel)`); len(got) != 1 ||
		got[0] != "https://example.org/a_(b)?c=d noopener noreferrer nofollow" {
		t.Errorf("links %q", got)
	}
	completes(ann)
	directTalk(ann, bob)
	readMarks(t, h, ann, bob)
	ann.clean(h)
	bob.clean(h)
}

// completes has a nick completed by Tab.
func completes(ann *browser) {
	ann.t.Helper()
	ann.until(`(document.querySelector("#say").focus(), document.activeElement.id == "say")`)
	ann.write("B")
	ann.press("Tab")
	ann.until(`document.querySelector("#say").value == "bob: " && document.activeElement.id == "say"`)
	ann.write("look here")
	ann.press("Enter")
	ann.until(texts + `.at(-1) == "bob: look here"`)
}

// directTalk is a conversation of two, which the other's page opens by itself.
func directTalk(ann, bob *browser) {
	ann.t.Helper()
	bob.until(`document.querySelector("#log .mention mark")?.textContent == "bob"`)
	ann.say("/msg bob between us")
	ann.until(`document.querySelector("#title").textContent == "bob"`)
	bob.until(`document.querySelector('#roomlist button[data-room="ann"] .badge')?.textContent == "1"`)
	bob.until(`document.title.startsWith("(1) ")`)
	bob.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "ArrowDown", "code": "ArrowDown", "modifiers": 1}, nil)
	bob.until(`document.querySelector("#title").textContent == "ann"`)
	bob.shows([]string{"between us"})
	bob.until(`!document.querySelector("#roomlist .badge")`)
}

// readMarks has an account's second device told what the first has read.
func readMarks(t *testing.T, h *host, ann, bob *browser) {
	t.Helper()
	second := ann.another()
	h.visit(second, "ann", "correct horse", "#other")
	second.inRoom("#other")
	second.until(`document.querySelector('#roomlist button[data-room="#lobby"]')`)
	bob.click(`#roomlist button[data-room="#lobby"]`)
	bob.inRoom("#lobby")
	bob.say("new for ann")
	for _, b := range []*browser{ann, second} {
		b.until(`document.querySelector('#roomlist button[data-room="#lobby"] .badge')?.textContent == "1"`)
	}
	ann.click(`#roomlist button[data-room="#lobby"]`)
	ann.until(texts + `.at(-1) == "new for ann"`)
	ann.until(`document.querySelector("#log .divider.new")`)
	second.until(`!document.querySelector('#roomlist button[data-room="#lobby"] .badge')`)
}

// What was said before one came is there when one scrolls up, in order and once.
func TestScrollingBack(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	writer := h.user("writer", "#old", textProtocol)
	var want []string
	for i := range 350 {
		want = append(want, fmt.Sprintf("message %d of an old room", i))
		writer.send("PRIVMSG #old :" + want[i])
	}
	writer.send("PING :stored")
	writer.until(":stored")
	b := open(t)
	h.visit(b, "ann", "", "#old")
	b.inRoom("#old")
	b.until(texts + `.at(-1) == "message 349 of an old room"`)
	if n := eval[int](b, texts+`.length`); n >= 350 {
		t.Errorf("%d messages are there before anybody scrolled", n)
	}
	b.until(`(document.querySelector("#log").scrollTop = 0, document.querySelector("#log .begin"))`)
	b.shows(want)
	b.until(`!document.querySelector("#down").hidden`)
	b.click("#down")
	b.until(`document.querySelector("#down").hidden`)
	b.clean(h)
}

// The connection is cut and the server restarted while people talk: nothing is lost or doubled, on either side.
func TestReconnection(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	h.account("ann", "correct horse")
	b := open(t)
	h.visit(b, "ann", "correct horse", "#a")
	b.inRoom("#a")
	var want []string
	say := func(text string) {
		want = append(want, text)
		b.say(text)
	}
	other := func(n int) {
		w := h.user("writer", "#a", textProtocol)
		for i := range n {
			want = append(want, fmt.Sprintf("other %d of %d", i, n))
			w.send("PRIVMSG #a :" + want[len(want)-1])
		}
		w.send("PING :stored", "QUIT")
		w.until(":stored")
		w.ended()
	}
	say("before")
	b.shows(want)
	for round := range 3 {
		h.cut()
		other(250)
		b.shows(want)
		say(fmt.Sprintf("after cut %d", round))
		b.shows(want)
	}

	h.halt()
	b.until(`document.querySelector("#state").textContent.includes("lost")`)
	b.say("said while it was down") // kept until it is acknowledged
	b.until(`document.querySelectorAll("#log .waiting").length == 1`)
	b.picture("lost")
	h.run()
	want = append(want, "said while it was down")
	b.until(fmt.Sprintf(`%s.at(-1) == %q && !document.querySelector("#log .waiting") && document.querySelector("#state").textContent == ""`, texts, want[len(want)-1]))

	racing(t, h, b, want)
}

// racing has two pages talk while the connections are cut anywhere between a message and its echo. Said is what the room holds before.
func racing(t *testing.T, h *host, ann *browser, said []string) {
	t.Helper()
	bob := ann.another()
	h.visit(bob, "bob", "", "#a")
	bob.inRoom("#a")
	for i := range 20 {
		said = append(said, fmt.Sprintf("racing %d", i), fmt.Sprintf("guest %d", i))
		ann.say(said[len(said)-2])
		bob.say(said[len(said)-1])
		if i%3 == 0 {
			h.cut()
		}
	}
	for _, page := range []*browser{ann, bob} {
		page.until(`!document.querySelector("#log .waiting")`)
	}
	got := h.log("#a")
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(said))) {
		t.Errorf("the log has %d messages, want each of %d once", len(got), len(said))
	}
	ann.shows(h.log("#a"))
	ann.clean(h)
	bob.clean(h)
}

func TestPhoneAndDark(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	h.account("ann", "correct horse")
	b := open(t)
	h.visit(b, "ann", "correct horse", "#village")
	b.inRoom("#village")
	people(h)
	b.say("Fine. I bring the ladder, and the cake: https://example.org/recipes/apple-cake?portions=12")
	b.say("/topic Harvest feast on Saturday, from three o'clock behind the old mill")
	b.until(`document.querySelector("#topic").textContent.startsWith("Harvest") && !document.querySelector("#log .waiting")`)
	for _, room := range []string{"#garden", "#school-run", "#fire-brigade"} {
		b.say("/join " + room)
		b.inRoom(room)
	}
	late := h.user("Zoe", "#garden", textProtocol)
	late.send("PRIVMSG #garden :The beans are up", "PRIVMSG #garden :ann: yours too?", "PING :x")
	late.until(":x")
	b.click(`#roomlist button[data-room="#village"]`)
	b.inRoom("#village")
	b.until(`document.querySelector('#roomlist button[data-room="#garden"] .badge.mine')`)
	b.picture("desktop")
	b.size(1280, 800, true)
	b.picture("dark")
	phone(t, b)
	b.clean(h)
}

// people talk in the village.
func people(h *host) {
	h.t.Helper()
	for _, said := range [][2]string{{"Marta", "Good morning! Who has the key to the old mill?"}, {"Jonas", "Me. It was in the blue box, as always."}, {"Jonas", "Should I open at two?"},
		{"Li", "ann, can you bring the ladder? And somebody has to tell the brass band that they begin at four this year, not at three, because the mayor comes late again."}} {
		w := h.user(said[0], "#village", textProtocol)
		w.send("PRIVMSG #village :"+said[1], "PING :x")
		w.until(":x")
		h.t.Cleanup(func() { w.ws.CloseNow() })
		if said[1] == "Me. It was in the blue box, as always." {
			w.send("PRIVMSG #village :\x01ACTION looks for it\x01", "PING :y")
			w.until(":y")
			w.send("QUIT")
			w.ended()
		}
	}
}

// phone checks the page in a narrow window: nothing is wider than it, and the panels open.
func phone(t *testing.T, b *browser) {
	t.Helper()
	b.size(390, 780, false)
	b.until(`innerWidth == 390 && getComputedStyle(document.querySelector("#menu")).display != "none"`)
	if w := eval[int](b, `document.documentElement.scrollWidth`); w > 390 {
		t.Errorf("the page is %d wide in a window of 390", w)
	}
	b.picture("phone")
	b.click("#menu")
	b.until(`getComputedStyle(document.querySelector("#rooms")).display != "none" && document.querySelector("#menu").getAttribute("aria-expanded") == "true"`)
	b.picture("phone-rooms")
	b.press("Escape")
	b.until(`getComputedStyle(document.querySelector("#rooms")).display == "none"`)
	b.click("#who")
	b.until(`getComputedStyle(document.querySelector("#people")).display != "none"`)
	b.press("Escape")
	b.size(390, 780, true)
	b.picture("phone-dark")
	unnamed := eval[[]string](b, `[...document.querySelectorAll("button, input, textarea")].filter((e) => !e.closest("[hidden]") &&
		!(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())).map((e) => e.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("without a name for those who hear the page: %q", unnamed)
	}
}

// The page's files come with a policy that lets them do nothing but with their own host.
func TestFiles(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	for path, kind := range map[string]string{"/": "text/html", "/page.js": "text/javascript", "/page.css": "text/css"} {
		resp, err := http.Get("http://" + h.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), kind) || resp.Header.Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %s, %v", path, resp.Status, resp.Header)
		}
		again, _ := http.NewRequest("GET", "http://"+h.addr+path, nil)
		again.Header.Set("If-None-Match", resp.Header.Get("ETag"))
		if resp, err = http.DefaultClient.Do(again); err != nil || resp.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %v %v, want 304", path, resp, err)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}
