package chromium

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const text = `<!doctype html><body style="margin:0"><input id=in><button id=b onclick="document.title += in_.value">do</button>
<script>const in_ = document.getElementById("in"); addEventListener("keydown", (e) => { if (e.altKey && e.key == "k") document.title += "!" })</script>`

// A page is opened, typed into, clicked, photographed, and its requests and errors are read.
// Another page shares nothing with it.
func TestPageCanBeDrivenAndObserved(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, text) }))
	defer s.Close()
	p, other := Open(t), Open(t)
	p.Size(500, 300, true)
	p.Go(s.URL + "/")
	p.Until(`(document.querySelector("#in").focus(), document.activeElement.id == "in")`)
	p.Write("häh")
	p.Click("#b")
	p.Press("Alt+k")
	p.Until(`document.title == "häh!"`)
	if dark := Eval[bool](p, `matchMedia("(prefers-color-scheme: dark)").matches`); !dark {
		t.Error("prefers-color-scheme: got light, want dark")
	}
	if picture, err := png.Decode(bytes.NewReader(p.Shot())); err != nil || picture.Bounds().Empty() {
		t.Errorf("the picture: got %v or no pixel, want a PNG", err)
	}
	Eval[any](p, `(localStorage.setItem("a", "1"), console.error("ouch"), fetch("http://elsewhere.example/").catch(() => 0))`)
	if !slices.Contains(p.Fetched(), "http://elsewhere.example/") || !strings.Contains(strings.Join(p.Errors(), "\n"), "ouch") {
		t.Errorf("got requests %q and errors %q, want the one to elsewhere.example and ouch", p.Fetched(), p.Errors())
	}
	other.Go(s.URL + "/")
	if kept := Eval[any](other, `localStorage.getItem("a")`); kept != nil || len(other.Errors()) > 0 {
		t.Errorf("another page: got the stored value %v and errors %q, want none of both: pages are separate", kept, other.Errors())
	}
}
