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
	boxW, boxH   = 150.0, 46.0
	stepX, stepY = boxW + 60, boxH + 22
	edgeOfPage   = 20.0
	dot          = 6.0 // radius of the entry's and the exit's dot
)

// style adapts the drawing to a light page and a dark one.
const style = `<style>text{font:13px system-ui,sans-serif;fill:#1d2021;text-anchor:middle}.small{font-size:11px;fill:#5c6370}rect{fill:#fafaf7;stroke:#8a93a3}path{fill:none;stroke:#8a93a3;stroke-width:1.5}circle,marker path{fill:#8a93a3;stroke:none}` +
	`@media(prefers-color-scheme:dark){text{fill:#e8e8e3}.small{fill:#a9b1bd}rect{fill:#24282e;stroke:#727b8a}}</style>`

// SVG draws a net as a self-contained picture, from left to right, with the counters of each edge.
// A tooltip gives the capacity of an edge.
func SVG(t flow.Topology) string {
	p := newPlan(t)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="a network of %d stages">`,
		p.width, p.height, p.width, p.height, len(t.Stages))
	b.WriteString(style + `<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>` + "\n")
	for _, l := range p.Links {
		p.link(&b, t, l)
	}
	p.end(&b, p.Nodes[0], "in")
	for i, s := range t.Stages {
		if i+1 == p.Exit {
			p.end(&b, p.Nodes[i+1], s.Name)
			continue
		}
		p.box(&b, p.Nodes[i+1], s)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// plan is a layout on a page.
type plan struct {
	Layout
	top           float64 // the lowest row number, which is drawn at the top
	width, height float64
}

func newPlan(t flow.Topology) plan {
	p := plan{Layout: ComputeLayout(t)}
	spots := slices.Clone(p.Nodes)
	for _, l := range p.Links {
		spots = append(spots, l.Via...)
	}
	bottom := 0.0
	for _, s := range spots {
		p.top, bottom = min(p.top, s.Row), max(bottom, s.Row)
	}
	p.width = p.x(Spot{Layer: p.Layers - 1}) + boxW/2 + edgeOfPage
	p.height = (bottom-p.top)*stepY + boxH + 2*edgeOfPage
	return p
}

// x and y return the centre of a spot.
func (p plan) x(s Spot) float64 { return edgeOfPage + dot + float64(s.Layer)*stepX }
func (p plan) y(s Spot) float64 { return edgeOfPage + boxH/2 + (s.Row-p.top)*stepY }

func (p plan) box(b *strings.Builder, at Spot, s flow.StageStats) {
	x, y := p.x(at), p.y(at)
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.0f" height="%.0f" rx="6"/>`, x-boxW/2, y-boxH/2, boxW, boxH)
	s.Name = oneLine(s.Name)
	name, more, _ := strings.Cut(stageLabel(s, "\n"), "\n")
	if more == "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s</text>`+"\n", x, y+4, html.EscapeString(oneLine(name)))
		return
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s</text><text class="small" x="%.1f" y="%.1f">%s</text>`+"\n", x, y-3, html.EscapeString(oneLine(name)), x, y+13, html.EscapeString(more))
}

func (p plan) end(b *strings.Builder, at Spot, name string) {
	x, y := p.x(at), p.y(at)
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.0f"/><text class="small" x="%.1f" y="%.1f">%s</text>`+"\n", x, y, dot, x, y-12, html.EscapeString(oneLine(name)))
}

// link draws a line, with the counters of its edges.
func (p plan) link(b *strings.Builder, t flow.Topology, l Link) {
	p.path(b, l)
	said, holds := linkLabel(l, t, countsLabel), linkLabel(l, t, func(e flow.EdgeStats) string { return capacityLabel(t.Way, e) })
	if holds == "" {
		b.WriteString("/>")
	} else {
		fmt.Fprintf(b, "><title>%s</title></path>", html.EscapeString(holds))
	}
	if said != "" {
		from, to := p.Nodes[l.From], p.Nodes[l.To]
		at := p.y(from) + (p.y(to)-p.y(from))/4
		fmt.Fprintf(b, `<text class="small" x="%.1f" y="%.1f">%s</text>`, p.x(from)+p.halfWidth(l.From)+26, at-5, html.EscapeString(said))
	}
	b.WriteByte('\n')
}

// linkLabel joins the labels of a link's edges.
func linkLabel(l Link, t flow.Topology, say func(flow.EdgeStats) string) string {
	var all []string
	for _, e := range l.Edges {
		if s := say(t.Edges[e]); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

// halfWidth returns the distance of a node's border from its centre.
func (p plan) halfWidth(n int) float64 {
	if n == 0 || n == p.Exit {
		return dot
	}
	return boxW / 2
}

// path writes the start of a link's path element.
func (p plan) path(b *strings.Builder, l Link) {
	from, to := p.Nodes[l.From], p.Nodes[l.To]
	x, y := p.x(from)+p.halfWidth(l.From), p.y(from)
	fmt.Fprintf(b, `<path marker-end="url(#head)" d="M%.1f,%.1f`, x, y)
	curve := func(toX, toY float64) {
		middle := (x + toX) / 2
		fmt.Fprintf(b, "C%.1f,%.1f %.1f,%.1f %.1f,%.1f", middle, y, middle, toY, toX, toY)
		x, y = toX, toY
	}
	for _, v := range l.Via {
		curve(p.x(v)-boxW/2, p.y(v))
		curve(p.x(v)+boxW/2, p.y(v))
	}
	curve(p.x(to)-p.halfWidth(l.To)-3, p.y(to))
	b.WriteByte('"')
}
