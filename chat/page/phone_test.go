package page

import (
	"fmt"
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// longNick has the maximum length of a nick.
const longNick = "a_name_of_thirty_two_characters_"

// uncut is an expression that is true if all text of an element is visible.
const uncut = `((e) => e.scrollWidth <= e.clientWidth && getComputedStyle(e).textOverflow != "ellipsis")`

// On a phone, an empty room shows a welcome with hints, the action bar covers no message, and the
// user's own name is shown in full.
func TestNothingIsCoveredOrCutOnAPhone(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	b := open(t)
	b.Size(360, 740, false)
	b.Call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true, "maxTouchPoints": 1}, nil)
	b.Go("http://" + h.addr + "/")
	b.logIn(longNick, "", "#garden")
	b.Until(`document.querySelector("#log .welcome h3")?.textContent == "Welcome to #garden"`)
	if fits := chromium.Eval[bool](b.Page, `document.documentElement.scrollWidth <= 360`); !fits {
		t.Error("an empty room: got it wider than 360 pixels, want it to fit")
	}
	b.picture("phone-empty")
	b.say("one")
	b.say("two")
	b.say("three")
	b.Until(`!document.querySelector("#log .welcome") && document.querySelectorAll("#log article:not(.waiting):not(.event)").length == 3`)
	b.tap(b.message("two"))
	b.Until(`document.querySelector(".actions")?.checkVisibility()`)
	covered := `(() => { const bar = document.querySelector(".actions").getBoundingClientRect();
		return [...document.querySelectorAll("#log article .text")].filter((e) => { const r = e.getBoundingClientRect();
			return r.bottom > bar.top + 1 && r.top < bar.bottom - 1 && r.right > bar.left && r.left < bar.right }).map((e) => e.textContent) })()`
	if texts := chromium.Eval[[]string](b.Page, covered); len(texts) > 0 {
		t.Errorf("the action bar: got the messages %q covered, want none", texts)
	}
	if text := chromium.Eval[string](b.Page, `document.querySelector(".actions").closest("article").querySelector(".text").textContent`); text != "two" {
		t.Errorf("tap on the message two: got the action bar on %q, want it on two", text)
	}
	b.picture("phone-actions")
	b.tap("#menu")
	b.Until(`document.querySelector("#me").checkVisibility()`)
	if whole := chromium.Eval[bool](b.Page, uncut+`(document.querySelector("#me"))`); !whole {
		t.Error("the user's own name: got it cut, want it whole")
	}
	b.picture("phone-name")
	b.clean(h)
}

// tap touches the middle of an element.
func (b *browser) tap(selector string) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`document.querySelector(%q)?.checkVisibility()`, selector))
	at := chromium.Eval[[]float64](b.Page, fmt.Sprintf(`(({ left, top, width, height }) => [left + width / 2, top + height / 2])(document.querySelector(%q).getBoundingClientRect())`, selector))
	finger := []map[string]any{{"x": at[0], "y": at[1]}}
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": finger}, nil)
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}}, nil)
}
