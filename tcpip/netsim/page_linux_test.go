package netsim

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/chromium"
)

// wrapped ends the browser of the tests, too.
func wrapped(m *testing.M) goleak.TestingM { return chromium.Main(m) }

// pageOf opens the report of a world in a browser.
func pageOf(t *testing.T, w *World, o outcome) *chromium.Page {
	t.Helper()
	dir := reported(t, w, o)
	p := chromium.Open(t)
	p.Size(1200, 900, false)
	p.Go("file://" + filepath.Join(dir, "index.html"))
	p.Until(`document.querySelectorAll("#box .packet").length > 0`)
	return p
}

// The page draws the packets, filters them, and works by the keyboard.
func TestThePageDrawsTheWorld(t *testing.T) {
	w := failed(t, crashedQueue)
	p := pageOf(t, w, outcome{repeatable: true, needed: []int{7}, smallest: w.recorded()})
	count := func(selector string) int {
		return chromium.Eval[int](p, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
	}
	d := w.draw(outcome{})
	if got := count("#box .packet polygon") + count("#box .packet.lost .cross")/2 + count("#box .packet.open")/2; got != len(d.Arrows) {
		t.Errorf("got %d arrows, want %d", got, len(d.Arrows))
	}
	if count(".life.down") != 4 || count(".mark.failure") != 1 || count(".mark.needed") == 0 {
		t.Errorf("got %d times of a host that is down, %d failures, %d needed faults; want 4, 1, and some", count(".life.down"), count(".mark.failure"), count(".mark.needed"))
	}
	p.Until(`(document.querySelector("#box").focus(), true)`)
	p.Press("j")
	p.Until(`document.querySelector("#detail").textContent.startsWith("writer → queue, sent at")`)
	p.Press("n")
	p.Click("#acks")
	p.Until(`document.querySelectorAll("#box .packet.ack:not(.lost)").length == 0`)
	p.Click("#hosts label:nth-of-type(3) input") // the reader
	p.Until(`![...document.querySelectorAll(".head")].some((e) => e.textContent == "reader")`)
	p.Size(390, 844, true)
	p.Until(`document.documentElement.scrollWidth <= 390`)
	if errs, fetched := p.Errors(), p.Fetched(); len(errs) > 0 || len(fetched) > 2 {
		t.Errorf("got the errors %q, and requests for %q; want none, and the page only", errs, fetched)
	}
}
