package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// pages returns the HTML of every synthetic run.
func pages(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, run := range runs {
		page, err := documentOf(digestOf(run())).html()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = page
	}
	return out
}

// TestPageLoadsNoResources checks that no attribute, style or script of the page loads anything.
func TestPageLoadsNoResources(t *testing.T) {
	loading := map[string]bool{"src": true, "srcset": true, "href": true, "xlink:href": true, "data": true, "action": true, "poster": true, "background": true, "ping": true}
	for name, page := range pages(t) {
		walk(t, page, func(n *html.Node) {
			for _, a := range n.Attr {
				if loading[a.Key] && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("%s: got <%s %s=%q>, want only links within the page", name, n.Data, a.Key, a.Val)
				}
			}
			if n.Data == "script" || n.Data == "link" || n.Data == "iframe" || n.Data == "object" {
				t.Errorf("%s: got <%s>, want none", name, n.Data)
			}
		})
		if found := regexp.MustCompile(`@import|url\s*\(`).Find(page); found != nil {
			t.Errorf("%s: got %s in the page", name, found)
		}
	}
}

// TestPageStructure checks that elements are balanced, ids are unique, links have targets, the rows
// of a table have the same number of columns, and headings do not skip a level.
func TestPageStructure(t *testing.T) {
	for name, page := range pages(t) {
		if err := balanced(page); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ids, level := map[string]bool{}, 0
		var links []string
		walk(t, page, func(n *html.Node) {
			id := attr(n, "id")
			if id != "" && ids[id] {
				t.Errorf("%s: got the id %s twice", name, id)
			}
			ids[id] = true
			links = append(links, references(n)...)
			level = checkHeading(t, name, n, level)
			if n.Data == "table" {
				checkTable(t, name, n)
			}
		})
		for _, l := range links {
			if !ids[l] {
				t.Errorf("%s: got a reference to the id %s, which no element has", name, l)
			}
		}
	}
}

// references returns the ids that an element refers to.
func references(n *html.Node) []string {
	refs := strings.Fields(attr(n, "aria-labelledby"))
	if h := attr(n, "href"); h != "" {
		refs = append(refs, strings.TrimPrefix(h, "#"))
	}
	return refs
}

// checkHeading checks the level of a heading after one of the given level, and returns the new
// level.
func checkHeading(t *testing.T, name string, n *html.Node, level int) int {
	t.Helper()
	if len(n.Data) != 2 || n.Data[0] != 'h' || n.Data[1] < '1' || n.Data[1] > '6' {
		return level
	}
	now := int(n.Data[1] - '0')
	if now > level+1 {
		t.Errorf("%s: got a heading of level %d after one of level %d", name, now, level)
	}
	return now
}

// checkTable counts the columns of each row of a table.
func checkTable(t *testing.T, name string, table *html.Node) {
	t.Helper()
	want := 0
	for r := range table.Descendants() {
		if r.Type != html.ElementNode || r.Data != "tr" {
			continue
		}
		columns := 0
		for c := range r.ChildNodes() {
			if span := attr(c, "colspan"); span != "" {
				columns += len(strings.Repeat(".", int(span[0]-'0')))
			} else if c.Data == "td" || c.Data == "th" {
				columns++
			}
		}
		if want == 0 {
			want = columns
		}
		if columns != want {
			t.Errorf("%s: got a row of %d columns in a table of %d (%s)", name, columns, want, attr(table, "aria-label"))
		}
	}
}

// TestTextOfThePageHasCheckedColours checks that the page's text uses only the colours whose
// contrast is tested in the package figure.
func TestTextOfThePageHasCheckedColours(t *testing.T) {
	for _, m := range regexp.MustCompile(`[;{]color:([^;}]*)`).FindAllStringSubmatch(pageStyle, -1) {
		if m[1] != "var(--ink)" && m[1] != "var(--muted)" && m[1] != "var(--s0)" {
			t.Errorf("got text in %s, want a checked colour", m[1])
		}
	}
}

// TestFiguresAreXML checks that every figure, as a file and within the page, is well-formed and has
// a title and a description.
func TestFiguresAreXML(t *testing.T) {
	for name, run := range runs {
		for _, f := range documentOf(digestOf(run())).figures() {
			for _, svg := range [][]byte{f.SVG(), f.Inline()} {
				if err := wellFormed(svg); err != nil {
					t.Errorf("%s: figure %s: %v", name, f.Name, err)
				}
				if !bytes.Contains(svg, []byte("<title id=")) || !bytes.Contains(svg, []byte("<desc id=")) {
					t.Errorf("%s: figure %s has no title or description", name, f.Name)
				}
			}
		}
	}
}

func wellFormed(doc []byte) error {
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func walk(t *testing.T, page []byte, visit func(*html.Node)) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// balanced checks that start and end tags match, which the HTML parser does not report.
func balanced(page []byte) error {
	empty := map[string]bool{"meta": true, "br": true, "hr": true, "link": true}
	var open []string
	for z := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				return errors.New("never closed: " + strings.Join(open, " "))
			}
			return nil
		case html.StartTagToken:
			if name, _ := z.TagName(); !empty[string(name)] {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				return errors.New("closed out of turn: " + string(name) + " within " + strings.Join(open, " "))
			}
			open = open[:len(open)-1]
		}
	}
}
