package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"weir/internal/chromium"
	"weir/lab/profile"
)

// differenceOf returns a small profile in which B has one function more, of that name.
func differenceOf(name string) *profile.Difference {
	return &profile.Difference{
		Version: profile.Version, Load: "messages, 16 connections, staggered",
		A:     profile.Side{Subject: "plain", Samples: 1000, Messages: 8000, PeriodNS: 250_000},
		B:     profile.Side{Subject: name, Samples: 1200, Messages: 8000, PeriodNS: 250_000, Notes: []string{name + " has no names"}},
		Total: profile.Row{Name: "total", A: 10_000, B: 12_000, Diff: 2000, Low: 1900, High: 2100},
		Rows: []profile.Row{
			{Name: name, Kind: profile.KindFunction, B: 2000, Diff: 2000, Low: 1900, High: 2100, Callers: []string{"main.serve", name}},
			{Name: "read(2)", Kind: profile.KindSystemCall, A: 10_000, B: 10_000, Low: -100, High: 100},
		},
		Unseen: profile.Row{Name: "not seen by the timer"},
		Tree: &profile.Node{Name: "all", A: 10_000, B: 12_000, Children: []*profile.Node{
			{Name: "main.serve", A: 10_000, B: 12_000, Children: []*profile.Node{
				{Name: name, B: 2000},
				{Name: "ksys_read", Kernel: true, A: 10_000, B: 10_000},
			}},
		}},
	}
}

func TestThePageWorksByKeyboardAndOffline(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, differenceOf("main.hash")); err != nil {
		t.Fatal(err)
	}
	p := chromium.Open(t)
	p.Size(1200, 900, false)
	p.Go("file://" + filepath.Join(dir, HTMLFile))
	p.Until(`document.querySelectorAll("figure[data-side=diff] g").length == 4`)
	p.Until(`document.querySelectorAll("figure[data-side=a] g").length == 3`) // A has no hash
	at := `document.querySelector("figure[data-side=diff] .at").textContent`
	p.Until(`(document.querySelector("figure[data-side=diff] svg").focus(), true)`)
	p.Press("ArrowDown")
	p.Until(at + `.startsWith("main.serve: 10.0 us in A, 12.0 us in B, +2.0 us")`)
	p.Press("ArrowDown")
	p.Press("ArrowRight")
	p.Press("ArrowLeft")
	p.Until(at + `.startsWith("ksys_read") || ` + at + `.startsWith("main.hash")`)
	p.Press("Enter")
	p.Press("Escape")
	p.Press("Escape")
	p.Until(at + `.startsWith("all")`)
	p.Press("/")
	p.Write("hash")
	p.Until(`document.querySelectorAll("tbody tr:not([hidden])").length == 1 && document.querySelectorAll(".hit").length == 2`)
	p.Until(`document.querySelector("#found").textContent.startsWith("0 ns in A, 2.0 us in B")`)
	for _, dark := range []bool{false, true} {
		p.Size(390, 844, dark)
		p.Until(`document.documentElement.scrollWidth <= 390`)
	}
	if errs, fetched := p.Errors(), p.Fetched(); len(errs) > 0 || len(fetched) > 1 {
		t.Errorf("got the errors %q, and requests for %q; want none, and the page only", errs, fetched)
	}
}

func TestTheJSONFileIsTheDifference(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, differenceOf("main.hash")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	var d profile.Difference
	if err := json.Unmarshal(text, &d); err != nil || d.Rows[0].Name != "main.hash" || d.Tree.Children[0].Children[0].B != 2000 {
		t.Errorf("got %+v, error %v; want the difference that was written", d, err)
	}
}

// Names come from programs: whatever they are, the page has the same elements.
func FuzzNamesAreEscaped(f *testing.F) {
	for _, name := range []string{"main.hash", `</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "<!--", "\x00\xff", "`${1}`"} {
		f.Add(name)
	}
	want := elementsOf(f, "main.hash")
	f.Fuzz(func(t *testing.T, name string) {
		if got := elementsOf(t, name); got != want {
			t.Errorf("%q: got the elements %s, want %s", name, got, want)
		}
	})
}

// elementsOf returns the names of the page's elements and attributes.
func elementsOf(t testing.TB, name string) string {
	t.Helper()
	text, err := HTML(differenceOf(name))
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			b.WriteString(n.Data + " ")
			for _, a := range n.Attr {
				b.WriteString(a.Key + " ")
			}
		}
		if n.Type == html.CommentNode {
			b.WriteString("comment ")
		}
	}
	return b.String()
}
