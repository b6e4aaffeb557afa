package draw

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"weir/flow"
)

// Dimensions of an SVG drawing, in pixels.
const (
	boxH            = 46.0
	narrowBox       = 60.0 // limits of a box's width, which the longest name decides
	wideBox         = 170.0
	narrowGap       = 40.0 // limits of the gap between layers, which the widest label decides
	wideGap         = 170.0
	rowGap          = 22.0 // between boxes of a layer
	lineH           = 13.0 // of a label's line
	edgeOfPage      = 20.0
	dot             = 6.0 // radius of the entry's and the exit's dot
	widthOfName     = 7.6 // of a letter of a stage's name, on average
	widthOfLabel    = 6.7 // of a letter of a label, on average
	longestLabel    = 24  // letters; the rest of a longer label is in the tooltip
	arrowHead       = 3.0
	labelAboveLine  = 5.0
	branchingLabel  = 0.68 // where labels stand on the first part of a link, from 0 to 1
	joiningLabel    = 0.35
	usualLabelPlace = 0.5
)

// style adapts the drawing to a light and a dark colour scheme. The drawing has its own background,
// so that it can be read in a page with another scheme than the reader's system. Opened by itself,
// it colours the whole window.
const style = `<style>svg:root{background:#fff}text{font:14px system-ui,sans-serif;fill:#1d2021;text-anchor:middle}.small{font-size:12px;fill:#4f5661}.page{fill:#fff;stroke:none}.label{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}` +
	`rect{fill:#fafaf7;stroke:#7c8594}path{fill:none;stroke:#7c8594;stroke-width:1.5}circle,marker path{fill:#7c8594;stroke:none}rect.slowest{stroke:` + slowColour + `;stroke-width:3}.small.slowest{fill:#9a3f00;font-weight:600}` +
	`@media(prefers-color-scheme:dark){svg:root{background:#14181c}text{fill:#e8e8e3}.small{fill:#b4bcc8}.page{fill:#14181c}.label{stroke:#14181c}rect{fill:#24282e}.small.slowest{fill:#ff9a57}}</style>`

// readable is the least scale at which the labels can be read.
const readable = 0.8

// SVG draws a net as a self-contained picture, from left to right, with the labels and counters of
// each edge. A tooltip gives the capacity of an edge. The picture shrinks to the width of its
// window or column, to 80 % at most: then it is scrolled.
func SVG(t flow.Topology) string {
	p := newPlan(t)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" style="max-width:100%%;min-width:%.0fpx;height:auto" role="img" aria-label="a network of %d stages">`,
		p.width, p.height, p.width, p.height, readable*p.width, len(t.Stages))
	b.WriteString(style + `<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect class="page" width="%.0f" height="%.0f"/>`+"\n", p.width, p.height)
	for _, l := range p.Links {
		p.line(&b, t, l)
	}
	p.end(&b, p.Nodes[0], "in")
	slow := slowest(t)
	for i, s := range t.Stages {
		if i+1 == p.Exit {
			p.end(&b, p.Nodes[i+1], s.Name)
			continue
		}
		p.box(&b, p.Nodes[i+1], s, i == slow)
	}
	for i := range p.Links { // above the boxes and lines
		p.label(&b, i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// plan is a layout on a page.
type plan struct {
	Layout
	labels [][]string // lines of each link
	top    float64    // the lowest row number, which is drawn at the top
	// of the boxes of each layer; twice the radius in one that has only dots
	widths        []float64
	centres       []float64 // of each layer
	width, height float64
}

func newPlan(t flow.Topology) plan {
	p := plan{Layout: ComputeLayout(t)}
	spots := slices.Clone(p.Nodes)
	for _, l := range p.Links {
		spots = append(spots, l.Via...)
		p.labels = append(p.labels, labelLines(t, l))
	}
	bottom := 0.0
	for _, s := range spots {
		p.top, bottom = min(p.top, s.Row), max(bottom, s.Row)
	}
	p.widths = p.layerWidths(t)
	gaps := p.gapsBehindLayers()
	if p.Exit > 0 && p.Layers > 1 { // room for its name
		gaps[p.Layers-2] = max(gaps[p.Layers-2], letters(t.Stages[p.Exit-1].Name)*widthOfLabel)
	}
	right := edgeOfPage
	for layer, w := range p.widths {
		p.centres = append(p.centres, right+w/2)
		right += w + gaps[layer]
	}
	p.width = right - gaps[len(gaps)-1] + edgeOfPage
	p.height = (bottom-p.top)*(boxH+rowGap) + boxH + 2*edgeOfPage
	return p
}

// layerWidths returns the width of each layer, which its longest name decides.
func (p plan) layerWidths(t flow.Topology) []float64 {
	widths := make([]float64, p.Layers)
	for i := range widths {
		widths[i] = 2 * dot
	}
	for i, s := range t.Stages {
		if i+1 == p.Exit {
			continue
		}
		layer := p.Nodes[i+1].Layer
		for _, line := range stageLines(s, i == slowest(t)) {
			widths[layer] = min(max(widths[layer], narrowBox, letters(line)*widthOfName+20), wideBox)
		}
	}
	return widths
}

// gapsBehindLayers returns the width of the gap behind each layer, which the longest label of the
// links that start there decides.
func (p plan) gapsBehindLayers() []float64 {
	gaps := make([]float64, p.Layers)
	for i, l := range p.Links {
		from := &gaps[p.Nodes[l.From].Layer]
		for _, line := range p.labels[i] {
			*from = max(*from, letters(line)*widthOfLabel*1.3+12)
		}
	}
	for i := range gaps {
		gaps[i] = min(max(gaps[i], narrowGap), wideGap)
	}
	return gaps
}

func letters(s string) float64 { return float64(len([]rune(s))) }

// x and y return the centre of a spot.
func (p plan) x(s Spot) float64 { return p.centres[s.Layer] }
func (p plan) y(s Spot) float64 { return edgeOfPage + boxH/2 + (s.Row-p.top)*(boxH+rowGap) }

func (p plan) box(b *strings.Builder, at Spot, s flow.StageStats, slowest bool) {
	x, y, w := p.x(at), p.y(at), p.widths[at.Layer]
	class, lines := "", stageLines(s, slowest)
	if slowest {
		class = ` slowest`
	}
	fmt.Fprintf(b, `<rect class="stage%s" x="%.1f" y="%.1f" width="%.0f" height="%.0f" rx="6"/>`, class, x-w/2, y-boxH/2, w, boxH)
	name := shortened(lines[0], int((w-8)/widthOfName))
	title := ""
	if name != lines[0] {
		title = "<title>" + html.EscapeString(lines[0]) + "</title>"
	}
	if len(lines) == 1 {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s%s</text>`+"\n", x, y+4, html.EscapeString(name), title)
		return
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s%s</text><text class="small%s" x="%.1f" y="%.1f">%s</text>`+"\n",
		x, y-3, html.EscapeString(name), title, class, x, y+13, html.EscapeString(lines[1]))
}

// shortened returns a text with so many letters at most.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func (p plan) end(b *strings.Builder, at Spot, name string) {
	x, y := p.x(at), p.y(at)
	anchor := ""
	// a name at the edge of the page stays inside
	switch half := letters(name) * widthOfLabel / 2; {
	case x-half < 0:
		anchor, x = ` style="text-anchor:start"`, x-dot
	case x+half > p.width:
		anchor, x = ` style="text-anchor:end"`, x+dot
	}
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.0f"/><text class="small"%s x="%.1f" y="%.1f">%s</text>`+"\n", p.x(at), y, dot, anchor, x, y-12, html.EscapeString(oneLine(name)))
}

// line draws the line of a link, with the labels and capacities of its edges as a tooltip.
func (p plan) line(b *strings.Builder, t flow.Topology, l Link) {
	p.path(b, l)
	var said []string
	for _, e := range l.Edges {
		for _, s := range []string{oneLine(t.Edges[e].Label), capacityLabel(t.Way, t.Edges[e])} {
			if s != "" {
				said = append(said, s)
			}
		}
	}
	if len(said) == 0 {
		b.WriteString("/>\n")
		return
	}
	fmt.Fprintf(b, "><title>%s</title></path>\n", html.EscapeString(strings.Join(said, "; ")))
}

// labelLines returns the lines of a link's label: the labels of its edges, and the sums of their
// counters.
func labelLines(t flow.Topology, l Link) []string {
	var labels []string
	var sum flow.EdgeStats
	for _, i := range l.Edges {
		e := t.Edges[i]
		if e.Label != "" {
			labels = append(labels, oneLine(e.Label))
		}
		sum.Items, sum.Depth, sum.Dropped, sum.Refused = sum.Items+e.Items, sum.Depth+e.Depth, sum.Dropped+e.Dropped, sum.Refused+e.Refused
	}
	lines := countLines(sum)
	if len(labels) > 0 {
		lines = append([]string{shortened(strings.Join(labels, ", "), longestLabel)}, lines...)
	}
	return lines
}

// label writes the label of a link above the first part of its line, which leads to the next layer.
// Labels of a branch's arms stand where the arms have parted, those of links that meet where they
// are still apart.
func (p plan) label(b *strings.Builder, link int) {
	if len(p.labels[link]) == 0 {
		return
	}
	l, part := p.Links[link], usualLabelPlace
	switch {
	case p.isAlone(func(o Link) bool { return o.From == l.From }):
		part = joiningLabel
	case p.isAlone(func(o Link) bool { return o.To == l.To }):
		part = branchingLabel
	}
	points := p.points(l)
	x, y := on(points[0], points[1], part)
	for i, line := range p.labels[link] {
		fmt.Fprintf(b, `<text class="small label" x="%.1f" y="%.1f">%s</text>`, x, y-labelAboveLine-lineH*float64(len(p.labels[link])-1-i), html.EscapeString(line))
	}
	b.WriteByte('\n')
}

// isAlone reports whether one link at most is like this.
func (p plan) isAlone(like func(Link) bool) bool {
	n := 0
	for _, l := range p.Links {
		if like(l) {
			n++
		}
	}
	return n <= 1
}

// halfWidth returns the distance of a node's border from its centre.
func (p plan) halfWidth(n int) float64 {
	if n == 0 || n == p.Exit {
		return dot
	}
	return p.widths[p.Nodes[n].Layer] / 2
}

// point is a position on the page.
type point struct{ x, y float64 }

// points returns where a link starts, enters and leaves the layers between, and ends.
func (p plan) points(l Link) []point {
	from, to := p.Nodes[l.From], p.Nodes[l.To]
	all := []point{{p.x(from) + p.halfWidth(l.From), p.y(from)}}
	for _, v := range l.Via {
		half := p.widths[v.Layer] / 2
		all = append(all, point{p.x(v) - half, p.y(v)}, point{p.x(v) + half, p.y(v)})
	}
	return append(all, point{p.x(to) - p.halfWidth(l.To) - arrowHead, p.y(to)})
}

// on returns the point of the curve from a to b that path draws, with part from 0 to 1.
func on(a, b point, part float64) (x, y float64) {
	rest := 1 - part
	start, end := rest*rest*rest, part*part*part
	early := start + 3*rest*rest*part
	return start*a.x + end*b.x + (1-start-end)*(a.x+b.x)/2, early*a.y + (1-early)*b.y
}

// path writes the start of a link's path element.
func (p plan) path(b *strings.Builder, l Link) {
	points := p.points(l)
	at := points[0]
	fmt.Fprintf(b, `<path marker-end="url(#head)" d="M%.1f,%.1f`, at.x, at.y)
	for _, to := range points[1:] {
		middle := (at.x + to.x) / 2
		fmt.Fprintf(b, "C%.1f,%.1f %.1f,%.1f %.1f,%.1f", middle, at.y, middle, to.y, to.x, to.y)
		at = to
	}
	b.WriteByte('"')
}
