package draw

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"weir/flow"
)

// names are component names that a site file may contain.
var names = []string{`<img src=x onerror=alert(1)>`, `a"]; click s0 href "javascript:alert(1)"`, "`**b**`", "a\nb\tc\x1b[31m", `#quot;`, `&lt;`, `\`, `\"`, "ünï\u2028"}

func named(name string) flow.Topology {
	return flow.Topology{Way: flow.Chain, Stages: []flow.StageStats{{Name: name}, {Name: "response"}},
		Edges: []flow.EdgeStats{{Edge: flow.Edge{From: flow.Entry, To: name}}, {Edge: flow.Edge{From: name, To: "response"}}}}
}

func TestMermaidTextEscapesNames(t *testing.T) {
	for _, name := range names {
		drawn := Mermaid(named(name))
		if n := strings.Count(drawn, "\n"); n != 6 {
			t.Errorf("%q: %d lines, want 6:\n%s", name, n, drawn)
		}
		label := drawn[strings.Index(drawn, `["`)+2 : strings.Index(drawn, `"]`)]
		if strings.ContainsAny(label, "<>\"&`\\") || strings.ContainsFunc(label, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q: the label %q has characters of Mermaid or HTML, want them escaped", name, label)
		}
	}
}

func TestDOTTextEscapesNames(t *testing.T) {
	for _, name := range names {
		drawn := DOT(named(name))
		if n := strings.Count(drawn, "\n"); n != 9 {
			t.Errorf("%q: %d lines, want 9:\n%s", name, n, drawn)
		}
		bare := strings.NewReplacer(`\\`, "", `\"`, "").Replace(drawn)
		if strings.Count(bare, `"`)%2 != 0 || strings.Contains(bare, `\x`) || strings.Contains(bare, `\u`) {
			t.Errorf("%q: got unbalanced quotes or escapes that Graphviz does not know, want balanced quotes and only \\\\ and \\\":\n%s", name, drawn)
		}
	}
}

func TestSVGTextEscapesNames(t *testing.T) {
	for _, name := range names {
		d := xml.NewDecoder(strings.NewReader(SVG(named(name))))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("%q: parsing the drawing as XML: got error %v, want none", name, err)
				break
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "img" {
				t.Errorf("%q: the name has become an element, want it as text", name)
			}
		}
	}
}
