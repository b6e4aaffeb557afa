package page

import (
	"fmt"
	"testing"
	"time"

	"weir/chat"
	"weir/internal/chromium"
)

// finds searches for words in the open panel until there are n results: the index may lag at first.
func (b *browser) finds(words string, n int) {
	b.t.Helper()
	b.focus("#words")
	chromium.Eval[any](b.Page, `document.querySelector("#words").select()`)
	b.Write(words)
	for end := time.Now().Add(chromium.StepTimeout); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		b.Press("Enter")
		b.Until(`document.querySelector("#found-state").textContent != "Searching …"`)
		if chromium.Eval[int](b.Page, `document.querySelectorAll("#found li").length`) == n {
			return
		}
	}
	b.t.Fatalf("results for %q: want %d, got %s", words, n, chromium.Eval[string](b.Page, `document.querySelector("#finding").innerText`))
}

// A search finds an old message and opens it. Scrolling from there to the end shows every message
// once.
func TestASearchResultOpensItsMessage(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{})
	w := h.user("writer", "#old", textProtocol)
	var want []string
	for i := range 420 {
		text := fmt.Sprintf("message %d", i)
		if i == 120 {
			text = "where the treasure is buried"
		}
		want = append(want, text)
		w.send("PRIVMSG #old :" + text)
	}
	w.send("PING :stored")
	w.until(":stored")
	b := open(t)
	h.visit(b, "ann", "", "#old")
	b.inRoom("#old")
	b.Until(texts + `.at(-1) == "message 419"`)
	b.Press("Alt+s")
	b.Until(`document.activeElement.id == "words"`)
	b.finds("buried treasure", 1)
	b.Until(`document.querySelectorAll("#found mark").length == 2`)
	// the messages at the end are still visible above the input
	b.Until(`document.querySelector("#down").hidden`)
	b.picture("search")
	b.focus("#words")
	b.focus("#found li button")
	b.Press("Enter")
	b.Until(`document.activeElement.querySelector?.(".text")?.textContent == "where the treasure is buried" && document.activeElement.classList.contains("pointed")`)
	if n := chromium.Eval[int](b.Page, texts+".length"); n > 110 {
		t.Errorf("got %d messages loaded to show one result, want at most 110", n)
	}
	w.send("PRIVMSG #old :said meanwhile", "PING :more")
	w.until(":more")
	want = append(want, "said meanwhile")
	b.Until(`(document.querySelector("#log").scrollTop = 0, document.querySelector("#log .begin"))`)
	b.Until(`(document.querySelector("#log").scrollTop = 1e6, ` + texts + `.at(-1) == "said meanwhile")`)
	b.shows(want)

	b.say("/search nothing-like-it")
	b.Until(`document.querySelector("#found-state").textContent == "Nothing was found."`)
	b.Press("Escape")
	b.Until(`document.querySelector("#finding").hidden && document.activeElement.id == "say"`)
	b.clean(h)
}
