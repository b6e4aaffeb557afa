package draw

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/flow"
)

// branching is a branch with arms of several lengths, whose edges have different counts.
func branching() flow.Topology {
	t := net([2]string{"", "log"}, [2]string{"log", "routes"}, [2]string{"routes", "pages"}, [2]string{"routes", "scripts"}, [2]string{"scripts", "compress"},
		[2]string{"routes", "compress"}, [2]string{"routes", response}, [2]string{"pages", response}, [2]string{"compress", response})
	for i := range t.Edges {
		t.Edges[i].Items = uint64(100 + i)
	}
	return t
}

// A label is nearer to its own line than to every other line, also where that crosses layers.
func TestLabelsStandAtTheirOwnLinks(t *testing.T) {
	drawn := branching()
	p := newPlan(drawn)
	svg := SVG(drawn)
	for i, l := range p.Links {
		var x, y float64
		text := fmt.Sprintf(">%d</text>", drawn.Edges[l.Edges[0]].Items)
		before, _, found := strings.Cut(svg, text)
		start := strings.LastIndex(before, "<text")
		if _, err := fmt.Sscanf(before[max(0, start):], `<text class="small label" x="%f" y="%f"`, &x, &y); !found || err != nil {
			t.Fatalf("the count of link %d is not drawn (%v), want it as text:\n%s", i, err, svg)
		}
		nearest, least := -1, math.Inf(1)
		for j, other := range p.Links {
			if d := p.distance(other, x, y+labelAboveLine); d < least {
				nearest, least = j, d
			}
		}
		if nearest != i {
			t.Errorf("the label of link %+v stands at %v, %v, nearest to %+v; want it nearest to its own link", l, x, y, p.Links[nearest])
		}
	}
}

// distance returns the distance of a position from a link's line.
func (p plan) distance(l Link, x, y float64) float64 {
	least, points := math.Inf(1), p.points(l)
	for i := range points[1:] {
		for part := 0.0; part <= 1; part += 0.01 {
			cx, cy := on(points[i], points[i+1], part)
			least = min(least, math.Hypot(cx-x, cy-y))
		}
	}
	return least
}

// The labels stay readable in a narrow window: below 80 % of its size the drawing is scrolled.
func TestAnSVGFitsItsWindow(t *testing.T) {
	drawn := branching()
	svg := SVG(drawn)
	style := fmt.Sprintf(`style="max-width:100%%;min-width:%.0fpx;height:auto"`, 0.8*newPlan(drawn).width)
	for _, want := range []string{`viewBox="0 0 `, style, "prefers-color-scheme:dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %s, want it:\n%s", want, svg)
		}
	}
}

// The mark is a word and a colour. One timed stage alone is not the slowest.
func TestTheSlowestStageIsMarked(t *testing.T) {
	drawn := branching()
	formats := map[string]func(flow.Topology) string{"svg": SVG, "dot": DOT, "mermaid": Mermaid}
	drawn.Stages[1].ServiceNS = 2000
	for name, draw := range formats {
		if got := draw(drawn); strings.Contains(got, ", slowest") {
			t.Errorf("%s: the only timed stage is marked as slowest, want no mark:\n%s", name, got)
		}
	}
	drawn.Stages[2].ServiceNS = 9000
	for name, draw := range formats {
		if got := draw(drawn); strings.Count(got, "9 µs, slowest") != 1 || strings.Count(got, "slowest<")+strings.Count(got, `slowest"`) < 1 || !strings.Contains(got, slowColour) {
			t.Errorf("%s: want the stage of 9 µs marked by word and colour:\n%s", name, got)
		}
	}
}

func TestEdgesCarryTheirLabels(t *testing.T) {
	drawn := branching()
	drawn.Edges[2].Label = "GET /pages/{name}"
	for name, draw := range map[string]func(flow.Topology) string{"svg": SVG, "dot": DOT, "mermaid": Mermaid} {
		if got := draw(drawn); !strings.Contains(got, "GET /pages/{name}") {
			t.Errorf("%s: the label of an edge is not drawn, want it:\n%s", name, got)
		}
	}
}

func TestNumbersHaveSeparators(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
