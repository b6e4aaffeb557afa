package page

import (
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// pure tests the page's pure functions with generated texts and returns the failures.
const pure = `Promise.all([import("./irc.js"), import("./scram.js"), import("./text.js")]).then(([irc, scram, text]) => {
	const wrong = [], bytes = (s) => new TextEncoder().encode(s).length;
	let seed = 7;
	const random = (n) => (seed = seed * 48271 % 2147483647) % n;
	const signs = ["a", "b", " ", " ", "\n", "ä", "日", "👍", "👨‍👩‍👧", ":", ";", "\\", "é"];
	const texts = Array.from({ length: 400 }, () => Array.from({ length: random(120) }, () => signs[random(signs.length)]).join(""));
	for (const t of texts) {
		const parts = irc.cut(t, 20), clean = t.replace(/^\n+|\s+$/g, "");
		if (parts.map((p, i) => (i > 0 && !p.concat ? "\n" : "") + p.text).join("") !== (clean.trim() ? clean : "")) wrong.push("cut loses of " + JSON.stringify(t));
		if (parts.some((p) => bytes(p.text) > 20 || p.text.includes("\n") || !p.text.isWellFormed())) wrong.push("cut makes long or broken lines of " + JSON.stringify(t));
		const m = irc.parse(irc.line("PRIVMSG", ["#a", t.replaceAll("\n", "")], { label: t, "+x/y": "" }));
		if (m.command !== "PRIVMSG" || m.params.length !== 2 || m.params[1] !== t.replaceAll("\n", "") || m.tags.get("label") !== t || m.tags.get("+x/y") !== "") wrong.push("line and parse differ for " + JSON.stringify(t));
		const span = document.createElement("span");
		text.render(span, t, "ab", new Map([["bab", {}]]));
		if (span.textContent !== t) wrong.push("render shows something else for " + JSON.stringify(t));
		if (new TextDecoder().decode(Uint8Array.from(atob(irc.base64(t)), (c) => c.charCodeAt(0))) !== t) wrong.push("base64 of " + JSON.stringify(t));
	}
	for (const [a, b] of [["I\u00adX", "IX"], ["\u00aa", "a"], ["\u2168", "IX"], ["a\u00a0b", "a b"], ["\u200b", " "]]) if (scram.prepared(a) !== b) wrong.push("prepared " + a);
	for (const [id, at] of [["abcdefgh-12", 12], ["abcdefgh-", NaN], ["x-1", NaN], ["", NaN], [undefined, NaN]]) if (!Object.is(irc.offset(id), at)) wrong.push("offset of " + id);
	for (const t of ["javascript:alert(1)", "data:text/html,x", "http://", "https://[", "see http://a.example/b)."]) {
		const span = document.createElement("span");
		text.render(span, t, "", new Map());
		for (const a of span.querySelectorAll("a")) if (!/^https?:/.test(a.href) || /[).]$/.test(a.href)) wrong.push("a link to " + a.href);
	}
	return wrong.slice(0, 5);
})`

func TestPureFunctionsKeepAnyText(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{})
	b := open(t)
	b.Go("http://" + h.addr + "/")
	for _, wrong := range chromium.Eval[[]string](b.Page, pure) {
		t.Error(wrong)
	}
	b.clean(h)
}
