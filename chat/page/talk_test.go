package page

import (
	"fmt"
	"strings"
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// message returns a selector of the last message with a text.
func (b *browser) message(text string) string {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("#log article:not(.waiting)")].findLast((e) => e.querySelector(".text").textContent == %q)`, text)
	b.Until(find)
	return `article[data-id="` + chromium.Eval[string](b.Page, find+".dataset.id") + `"]`
}

// Reactions, replies, redactions and multi-line messages, by pointer and by keyboard, as another
// user sees them live and after a reload.
func TestReactionsRepliesAndRedactions(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	h.account("ann", "correct horse")
	h.account("bob", "battery staple")
	ann := open(t)
	bob := ann.another()
	h.visit(ann, "ann", "correct horse", "#a")
	ann.inRoom("#a")
	h.visit(bob, "bob", "battery staple", "#a")
	bob.inRoom("#a")

	long := strings.Repeat("a very long line ", 100) + "its end"
	lines(ann, bob, long)
	reactions(ann, bob)
	answers(ann, bob)
	removes(ann, bob)

	h.visit(bob, "bob", "battery staple", "#a")
	bob.shows([]string{"first line\n\nthird line, with bob in it", long, "oh", "indeed"})
	bob.Until(`document.querySelector(".reaction")?.getAttribute("aria-label") == "❤️: bob" && document.querySelector(".quoted").textContent == "bob oh"`)
	bob.Click(".quoted")
	bob.Until(`document.querySelector("article.pointed .text")?.textContent == "oh"`)
	topicAndAway(ann, bob)
	notified(t, ann, bob, h)
	ann.clean(h)
	bob.clean(h)
}

// topicAndAway changes the topic in its dialog and sets the user away.
func topicAndAway(ann, bob *browser) {
	ann.t.Helper()
	ann.Click("#more")
	ann.Until(`document.querySelector("#about").open`)
	ann.focus("#about-topic")
	ann.Write("Bees and trees")
	ann.picture("about")
	ann.Click("#about-save")
	bob.Until(`document.querySelector("#topic").textContent == "Bees and trees"`)
	ann.Click("#away")
	ann.Until(`document.querySelector("#away").getAttribute("aria-pressed") == "true"`)
	bob.Until(`document.querySelector("#peoplelist .away .rank")?.textContent.includes("away")`)
	ann.say("/help")
	ann.Until(`document.querySelector("#help").open && document.querySelector("#helplist").textContent.includes("/search")`)
	ann.picture("help")
	ann.Press("Escape")
	ann.Until(`!document.querySelector("#help").open`)
}

// notified checks that the browser shows notifications to a user without focus, after a click has
// requested the permission.
func notified(t *testing.T, ann, bob *browser, h *host) {
	t.Helper()
	chromium.Eval[any](bob.Page, `(window.notes = [], window.Notification = class { static permission = "default"; static asked = 0;
		static async requestPermission() { this.asked++; this.permission = "granted"; return "granted" } constructor(title, o) { notes.push(title + ": " + o.body) } close() {} },
		Document.prototype.hasFocus = () => false, 0)`)
	ann.say("bob: not yet")
	bob.Until(texts + `.at(-1) == "bob: not yet"`)
	if asked := chromium.Eval[int](bob.Page, `notes.length + Notification.asked`); asked != 0 {
		t.Errorf("got %d requests or notifications before a click on the button, want none", asked)
	}
	bob.Click("#alerts")
	bob.Until(`document.querySelector("#alerts").hidden`)
	ann.say("of no interest")
	ann.say("bob: now")
	ann.say("/msg bob and this")
	bob.Until(`JSON.stringify(notes) == '["ann in #a: bob: now","ann: and this"]' && document.title.startsWith("(3) ")`)
}

// lines sends messages of several lines, and one that is longer than a line of IRC.
func lines(ann, bob *browser, long string) {
	ann.t.Helper()
	ann.focus("#say")
	ann.Write("first line\n\nthird line, with bob in it")
	bob.Until(`document.querySelector("#typing").textContent == "ann is typing …"`)
	ann.Press("Enter")
	bob.shows([]string{"first line\n\nthird line, with bob in it"})
	bob.Until(`document.querySelector("#typing").textContent == ""`)
	ann.say(long)
	bob.shows([]string{"first line\n\nthird line, with bob in it", long})
	bob.say("oh")
	bob.say("and this was wrong")
}

// reactions adds a reaction with a click, joins it as another user, and removes it.
func reactions(ann, bob *browser) {
	ann.t.Helper()
	// a message that arrives later would move the buttons between finding and clicking them
	ann.Until(texts + `.at(-1) == "and this was wrong"`)
	ann.Click(ann.message("oh")) // the action bar appears at the pointer
	ann.Click(`.actions button[aria-label="Heart"]`)
	bob.Until(`document.querySelector(".reaction")?.getAttribute("aria-label") == "❤️: ann"`)
	bob.Click(".reaction")
	ann.Until(`document.querySelector(".reaction").getAttribute("aria-label") == "❤️: ann, bob"`)
	ann.picture("reactions")
	ann.Click(".reaction")
	bob.Until(`document.querySelector(".reaction").getAttribute("aria-label") == "❤️: bob"`)
}

// answers replies to a message by the keyboard alone.
func answers(ann, bob *browser) {
	ann.t.Helper()
	ann.focus("#say")
	ann.Press("ArrowUp") // to the last message, one further up, and reply to it
	ann.Until(`document.activeElement.querySelector?.(".text")?.textContent == "and this was wrong"`)
	ann.Press("ArrowUp")
	ann.Press("r")
	ann.Until(`document.querySelector("#answered").textContent == "Replying to bob oh"`)
	ann.Write("indeed")
	ann.Press("Enter")
	bob.Until(`document.querySelector(".quoted")?.textContent == "bob oh"`)
	ann.Until(`document.querySelector("#answering").hidden`)
}

// removes deletes a message.
func removes(ann, bob *browser) {
	ann.t.Helper()
	chromium.Eval[any](bob.Page, `(window.confirm = () => true, 0)`)
	bob.focus(bob.message("and this was wrong"))
	bob.Press("Delete")
	for _, b := range []*browser{ann, bob} {
		b.Until(`document.querySelector("#log .removed")?.textContent == "This message was removed."`)
	}
	if n := chromium.Eval[int](bob.Page, `(document.querySelectorAll("article")[1].focus(), document.querySelectorAll(".actions button:not([hidden])").length)`); n != 7 {
		bob.t.Errorf("actions on another user's message: got %d, want 6 reactions and a reply", n)
	}
	bob.picture("removed")
}
