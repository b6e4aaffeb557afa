package page

import (
	"strings"
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// contrast lists the visible texts on the page with too little contrast (WCAG 2.2, section 1.4.3,
// AA): below 4.5:1, or 3:1 for large text.
const contrast = `(() => {
	const ctx = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	const rgba = (colour) => { ctx.clearRect(0, 0, 1, 1); ctx.fillStyle = colour; ctx.fillRect(0, 0, 1, 1); const d = ctx.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255] };
	const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255, v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)); return .2126 * r + .7152 * g + .0722 * b };
	const ground = (e) => { const layers = []; for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); layers.push(c); if (c[3] === 1) break }
		return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]) };
	const bad = [];
	const look = (e, text, style) => {
		const behind = ground(e), [a, b] = [light(over(rgba(style.color), behind)), light(behind)].sort((x, y) => y - x);
		const ratio = (a + .05) / (b + .05), size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		if (ratio < (large ? 3 : 4.5)) bad.push(ratio.toFixed(2) + " " + text.trim().slice(0, 40) + " ." + e.className + " in " + (e.closest("[id]")?.id ?? ""));
	};
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode()); ) { const e = n.parentElement; if (n.data.trim() && e.checkVisibility() && !["SCRIPT", "NOSCRIPT"].includes(e.tagName)) look(e, n.data, getComputedStyle(e)) }
	for (const e of document.querySelectorAll("input, textarea")) if (e.placeholder && e.checkVisibility()) look(e, e.placeholder, getComputedStyle(e, "::placeholder"));
	return bad;
})()`

// unnamed lists the controls and landmarks without an accessible name.
const unnamed = `[...document.querySelectorAll("button, input, textarea, a, [role=toolbar], aside, nav, section, dialog")].filter((e) => !(e.getAttribute("aria-label") ||
	e.getAttribute("aria-labelledby") || e.labels?.length || e.textContent.trim()) && e.type != "file").map((e) => e.outerHTML)`

// All text, including every colour of nicks, has enough contrast in the light and the dark theme.
// All controls have names and are reachable by the keyboard.
func TestEveryControlIsNamedAndReachableByKeyboard(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	h.account("ann", "correct horse")
	b := open(t)
	b.Size(1280, 800, false)
	b.Go("http://" + h.addr + "/")
	for _, dark := range []bool{false, true} {
		b.Size(1280, 800, dark)
		for _, kind := range []string{"guest", "account", "invite"} {
			b.Click(`#kinds input[value="` + kind + `"]`)
			b.legible("the first screen")
		}
	}
	reach(t, b, `document.querySelector("#name").focus()`, "name", "invite", "password", "first", "enter")
	h.visit(b, "ann", "correct horse", "#village")
	b.inRoom("#village")
	people(h)
	b.Until(texts + `.length == 5`)
	w := h.user("Otto", "#village", textProtocol)
	w.send("AWAY :asleep", "PRIVMSG #village :ann, Marta and Jonas: http://example.org/", "PING :x")
	w.until(":x")
	b.say("/nothing")
	b.say("Fine, Otto")
	b.Click(b.message("Fine, Otto"))
	b.Click(`.actions button[aria-label="Heart"]`)
	b.Until(`document.querySelector(".reaction")`)
	b.Click(`#find`)
	b.finds("ladder", 1)
	for _, dark := range []bool{false, true} {
		b.Size(1280, 800, dark)
		b.legible("the chat")
		everyNick(b)
	}
	reach(t, b, `document.querySelector("#roomlist button").focus()`, "joinname", "away", "out", "find", "more", "words", "everywhere", "found-close", "say", "send")
	if names := chromium.Eval[[]string](b.Page, unnamed); len(names) > 0 {
		t.Errorf("got the controls %q without an accessible name, want none (WCAG 2.2, 4.1.2)", names)
	}
	if live := chromium.Eval[string](b.Page, `document.querySelector("#log").role + " " + document.querySelector("#log").getAttribute("aria-live")`); !strings.HasPrefix(live, "log ") {
		t.Errorf("#log: got role and aria-live %q, want the role log and a live region", live)
	}
	b.clean(h)
}

// legible checks the contrast of all visible text.
func (b *browser) legible(where string) {
	b.t.Helper()
	for _, bad := range chromium.Eval[[]string](b.Page, contrast) {
		b.t.Errorf("contrast on %s: got too little for %s", where, bad)
	}
}

// everyNick checks the sixteen colours of nicks on every background of a message.
func everyNick(b *browser) {
	b.t.Helper()
	chromium.Eval[any](b.Page, `(() => { for (const kind of ["message", "message mention"]) for (let i = 0; i < 16; i++) { const e = document.createElement("article");
		e.className = kind + " trial"; e.style.background = kind == "message" ? "var(--hover)" : ""; e.innerHTML = '<span class="nick nick-' + i + '">nick ' + i + " on " + kind + '</span> <time>12:00</time>'; document.querySelector("#log").append(e) } })()`)
	b.legible("colours of nicks")
	chromium.Eval[any](b.Page, `document.querySelectorAll(".trial").forEach((e) => e.remove())`)
}

// reach presses Tab repeatedly and checks that every element with one of the ids gets the focus.
func reach(t *testing.T, b *browser, from string, ids ...string) {
	t.Helper()
	chromium.Eval[any](b.Page, from)
	seen := map[string]bool{}
	for range 60 {
		seen[chromium.Eval[string](b.Page, `document.activeElement.id`)] = true
		b.Press("Tab")
	}
	for _, id := range ids {
		if !seen[id] {
			t.Errorf("Tab: got no focus on #%s, want every control reachable by the keyboard", id)
		}
	}
}
