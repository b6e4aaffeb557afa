package page

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// Two users talk: one with an account, one as a guest.
func TestMessagesAreShownToBothUsers(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	h.account("ann", "correct horse")
	ann := open(t)
	bob := ann.another()

	h.visit(ann, "ann", "wrong password", "#lobby")
	ann.Until(`document.querySelector("#refused").textContent == "The name or the password is wrong."`)
	ann.picture("door")
	h.visit(ann, "ann", "correct horse", "#lobby")
	ann.inRoom("#lobby")
	h.visit(bob, "bob", "", "lobby")
	bob.inRoom("#lobby")
	ann.Until(`document.querySelector("#peoplelist").innerText.includes("bob")`)

	want := []string{"hello <b>bob</b> <img src=x onerror=alert(1)>", "https://example.org/a_(b)?c=d, see?", "waves"}
	ann.say(want[0])
	ann.say("hello again")
	bob.shows([]string{want[0], "hello again"})
	if n := chromium.Eval[int](bob.Page, `document.querySelectorAll("#log b, #log img, #log script").length`); n != 0 {
		t.Errorf("HTML in a message became %d elements, want 0", n)
	}
	bob.say(want[1])
	bob.say("/me " + want[2])
	ann.shows([]string{want[0], "hello again", want[1], want[2]})
	if got := chromium.Eval[[]string](ann.Page, `[...document.querySelectorAll("#log a")].map((a) => a.href + " " + a.rel)`); len(got) != 1 ||
		got[0] != "https://example.org/a_(b)?c=d noopener noreferrer nofollow" {
		t.Errorf("links: got %q, want one without the full stop, with noopener noreferrer nofollow", got)
	}
	completes(ann)
	directTalk(ann, bob)
	readMarks(t, h, ann, bob)
	ann.clean(h)
	bob.clean(h)
}

// completes completes a nick with Tab.
func completes(ann *browser) {
	ann.t.Helper()
	ann.Until(`(document.querySelector("#say").focus(), document.activeElement.id == "say")`)
	ann.Write("B")
	ann.Press("Tab")
	ann.Until(`document.querySelector("#say").value == "bob: " && document.activeElement.id == "say"`)
	ann.Write("look here")
	ann.Press("Enter")
	ann.Until(texts + `.at(-1) == "bob: look here"`)
}

// directTalk is a direct conversation, which the other user's page opens automatically.
func directTalk(ann, bob *browser) {
	ann.t.Helper()
	bob.Until(`document.querySelector("#log .mention mark")?.textContent == "bob"`)
	ann.say("/msg bob between us")
	ann.Until(`document.querySelector("#title").textContent == "bob"`)
	bob.Until(`document.querySelector('#roomlist button[data-room="ann"] .badge')?.textContent == "1"`)
	bob.Until(`document.title.startsWith("(1) ")`)
	bob.Press("Alt+ArrowDown")
	bob.Until(`document.querySelector("#title").textContent == "ann"`)
	bob.shows([]string{"between us"})
	bob.Until(`!document.querySelector("#roomlist .badge")`)
}

// readMarks checks that an account's second device receives the read marker of the first.
func readMarks(t *testing.T, h *host, ann, bob *browser) {
	t.Helper()
	second := ann.another()
	h.visit(second, "ann", "correct horse", "#other")
	second.inRoom("#other")
	second.Until(`document.querySelector('#roomlist button[data-room="#lobby"]')`)
	bob.Click(`#roomlist button[data-room="#lobby"]`)
	bob.inRoom("#lobby")
	bob.say("new for ann")
	for _, b := range []*browser{ann, second} {
		b.Until(`document.querySelector('#roomlist button[data-room="#lobby"] .badge')?.textContent == "1"`)
	}
	ann.Click(`#roomlist button[data-room="#lobby"]`)
	ann.Until(texts + `.at(-1) == "new for ann"`)
	ann.Until(`document.querySelector("#log .divider.new")`)
	second.Until(`!document.querySelector('#roomlist button[data-room="#lobby"] .badge')`)
}

// Scrolling up loads the messages before the join, in order and each once.
func TestScrollingUpLoadsHistory(t *testing.T) {
	t.Parallel()
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
	b.Until(texts + `.at(-1) == "message 349 of an old room"`)
	if n := chromium.Eval[int](b.Page, texts+`.length`); n >= 350 {
		t.Errorf("got %d messages before scrolling, want fewer than all", n)
	}
	b.Until(`(document.querySelector("#log").scrollTop = 0, document.querySelector("#log .begin"))`)
	b.shows(want)
	b.Until(`!document.querySelector("#down").hidden`)
	b.Click("#down")
	b.Until(`document.querySelector("#down").hidden`)
	b.clean(h)
}

// The connection is cut and the server restarted while users talk: no message is lost or duplicated
// on either side.
func TestReconnectLosesAndDuplicatesNothing(t *testing.T) {
	t.Parallel()
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
	for round := range 2 {
		h.cut()
		other(250 - 230*round)
		b.shows(want)
		say(fmt.Sprintf("after cut %d", round))
		b.shows(want)
	}

	h.halt()
	b.Until(`document.querySelector("#state").textContent.includes("lost")`)
	b.say("said while it was down") // queued until it is acknowledged
	b.Until(`document.querySelectorAll("#log .waiting").length == 1`)
	b.picture("lost")
	h.run()
	// the page would reconnect by itself, but later
	chromium.Eval[any](b.Page, `(dispatchEvent(new Event("online")), 0)`)
	want = append(want, "said while it was down")
	b.Until(fmt.Sprintf(`%s.at(-1) == %q && !document.querySelector("#log .waiting") && document.querySelector("#state").textContent == ""`, texts, want[len(want)-1]))

	racing(t, h, b, want)
}

// racing lets two pages send messages while connections are cut between a message and its echo.
// said are the messages that the room has before.
func racing(t *testing.T, h *host, ann *browser, said []string) {
	t.Helper()
	bob := ann.another()
	h.visit(bob, "bob", "", "#a")
	bob.inRoom("#a")
	for i := range 12 {
		said = append(said, fmt.Sprintf("racing %d", i), fmt.Sprintf("guest %d", i))
		ann.say(said[len(said)-2])
		bob.say(said[len(said)-1])
		if i%4 == 0 {
			h.cut()
		}
	}
	for _, page := range []*browser{ann, bob} {
		page.Until(`!document.querySelector("#log .waiting")`)
	}
	got := h.log("#a")
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(said))) {
		t.Errorf("the log has %d messages, want each of the %d once", len(got), len(said))
	}
	ann.shows(h.log("#a"))
	ann.clean(h)
	bob.clean(h)
}

func TestThePageFitsAPhoneInLightAndDark(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	h.account("ann", "correct horse")
	b := open(t)
	h.visit(b, "ann", "correct horse", "#village")
	b.inRoom("#village")
	people(h)
	b.say("Fine. I bring the ladder, and the cake: https://example.org/recipes/apple-cake?portions=12")
	b.say("/topic Harvest feast on Saturday, from three o'clock behind the old mill")
	b.Until(`document.querySelector("#topic").textContent.startsWith("Harvest") && !document.querySelector("#log .waiting")`)
	for _, room := range []string{"#garden", "#school-run", "#fire-brigade"} {
		b.say("/join " + room)
		b.inRoom(room)
	}
	late := h.user("Zoe", "#garden", textProtocol)
	late.send("PRIVMSG #garden :The beans are up", "PRIVMSG #garden :ann: yours too?", "PING :x")
	late.until(":x")
	b.Click(`#roomlist button[data-room="#village"]`)
	b.inRoom("#village")
	b.Until(`document.querySelector('#roomlist button[data-room="#garden"] .badge.mine')`)
	b.picture("desktop")
	b.Size(1280, 800, true)
	b.picture("dark")
	phone(t, b)
	b.clean(h)
}

// A message that arrives between the press and the release of the mouse draws the lists again.
func TestAClickIsNotLostWhenAMessageArrives(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{})
	h.account("ann", "correct horse")
	b := open(t)
	h.visit(b, "ann", "correct horse", "#a")
	b.inRoom("#a")
	b.say("/join #b")
	b.inRoom("#b")
	zoe := h.user("Zoe", "#a", textProtocol)
	b.Until(`document.querySelector('#roomlist button[data-room="#a"]')`)
	release := b.Hold(`#roomlist button[data-room="#a"]`)
	zoe.send("PRIVMSG #a :a message meanwhile", "PING :x")
	zoe.until(":x")
	b.Until(`document.querySelector('#roomlist button[data-room="#a"] .badge')`)
	release()
	b.inRoom("#a")
	b.clean(h)
}

// people lets users talk in the village.
func people(h *host) {
	h.t.Helper()
	for _, said := range [][2]string{{"Marta", "Good morning! Who has the key to the old mill?"}, {"Jonas", "Me. It was in the blue box, as always."}, {"Jonas", "Should I open at two?"},
		{"Li", "ann, can you bring the ladder? And one of us has to call the brass band that they begin at four this year, not at three, because the mayor comes late again."}} {
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

// phone checks the page in a narrow window: nothing is wider than the window, and the panels open.
func phone(t *testing.T, b *browser) {
	t.Helper()
	b.Size(360, 740, false)
	b.Until(`innerWidth == 360 && getComputedStyle(document.querySelector("#menu")).display != "none"`)
	fits := func(what string) {
		t.Helper()
		b.picture("phone-" + what)
		if w := chromium.Eval[int](b.Page, `document.documentElement.scrollWidth`); w > 360 {
			t.Errorf("%s: got a page width of %d, want at most 360", what, w)
		}
		out := chromium.Eval[[]string](b.Page, `[...document.querySelectorAll("button, input, textarea, a")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > 361).map((e) => e.outerHTML)`)
		if len(out) > 0 {
			t.Errorf("%s: got the elements %q cut off at 360 pixels, want none", what, out)
		}
	}
	fits("room")
	b.Click(b.message("Should I open at two?"))
	fits("actions")
	b.Click("#find")
	b.finds("ladder", 2)
	fits("search")
	b.Press("Escape")
	b.Click("#more")
	fits("about")
	b.Press("Escape")
	b.Click("#menu")
	b.Until(`getComputedStyle(document.querySelector("#rooms")).display != "none" && document.querySelector("#menu").getAttribute("aria-expanded") == "true"`)
	b.picture("phone-rooms")
	b.Press("Escape")
	b.Until(`getComputedStyle(document.querySelector("#rooms")).display == "none"`)
	b.Click("#who")
	b.Until(`getComputedStyle(document.querySelector("#people")).display != "none"`)
	b.Press("Escape")
	b.Size(360, 740, true)
	b.picture("phone-dark")
	unnamed := chromium.Eval[[]string](b.Page, `[...document.querySelectorAll("button, input, textarea")].filter((e) => !e.closest("[hidden]") &&
		!(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())).map((e) => e.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("got the controls %q without an accessible name, want none", unnamed)
	}
}

// The page's files have a policy that allows requests only to their own host, and an entity tag.
func TestSiteFilesHavePolicyAndEntityTag(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	for path, kind := range map[string]string{"/": "text/html", "/page.js": "text/javascript", "/page.css": "text/css"} {
		resp, err := http.Get("http://" + h.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), kind) || resp.Header.Get("Content-Security-Policy") != contentPolicy {
			t.Errorf("%s: got %s with headers %v, want 200, the type and the policy", path, resp.Status, resp.Header)
		}
		again, _ := http.NewRequest("GET", "http://"+h.addr+path, nil)
		again.Header.Set("If-None-Match", resp.Header.Get("ETag"))
		if resp, err = http.DefaultClient.Do(again); err != nil || resp.StatusCode != http.StatusNotModified {
			t.Errorf("%s with If-None-Match: got %v and error %v, want 304", path, resp, err)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}
