package main

import (
	"fmt"
	"slices"

	"weir/flow"
	"weir/flow/draw"
	"weir/web"
	"weir/web/site"
)

type serveDrawCmd struct {
	Site   string `arg:"" help:"The site file."`
	Format string `default:"svg" enum:"svg,dot,mermaid,json" help:"svg (for a browser), dot (for Graphviz), mermaid (for Markdown), or json."`
	variablesFlag
}

// Help is the long part of the command's help.
func (c *serveDrawCmd) Help() string {
	return `Each box is a component, each arrow a route of exchanges. While a site is served, its admin page shows the same drawing with counts.

Examples:

  weir serve draw site.hcl > site.svg
  weir serve draw site.hcl --format mermaid`
}

// Run implements the command.
func (c *serveDrawCmd) Run(t *terminal) error {
	values, err := c.values()
	if err != nil {
		return err
	}
	file, err := enter(c.Site)
	if err != nil {
		return err
	}
	s, err := site.Check(file, values)
	if err != nil {
		return explain(t, err)
	}
	defer s.Close()
	net, err := topology(s.Services)
	if err != nil {
		return err
	}
	switch c.Format {
	case "json":
		return t.json(net)
	case "mermaid":
		fmt.Fprint(t.out, draw.Mermaid(net))
	case "dot":
		fmt.Fprint(t.out, draw.DOT(net))
	default:
		fmt.Fprint(t.out, draw.SVG(net))
	}
	return nil
}

// topology returns the net of all services. Several are drawn as one net in which they share the
// entry and the exit: the name of a server stands before those of its components, and on its first
// edge.
func topology(all []*site.Service) (net flow.Topology, err error) {
	for _, s := range all {
		h, err := web.New(s.Pipe, web.Options{Way: s.Way()})
		if err != nil {
			return net, err
		}
		one := h.Topology()
		if err := h.Close(); err != nil {
			return net, err
		}
		if len(all) == 1 {
			return one, nil
		}
		net = withService(net, one, s.Name+" "+s.Listen, func(stage string) string { return s.Name + "/" + stage })
	}
	return net, nil
}

// withService adds the net of a service to that of those before it.
func withService(net, one flow.Topology, label string, rename func(stage string) string) flow.Topology {
	place := func(stage string) string {
		if stage == flow.Entry || stage == web.ResponseStage {
			return stage
		}
		return rename(stage)
	}
	net.Way = one.Way
	// of the exits, the last one is kept
	net.Stages = slices.DeleteFunc(net.Stages, func(s flow.StageStats) bool { return s.Name == web.ResponseStage })
	for _, s := range one.Stages {
		s.Name = place(s.Name)
		net.Stages = append(net.Stages, s)
	}
	for _, e := range one.Edges {
		if e.From == flow.Entry {
			e.Label = label
		}
		e.From, e.To = place(e.From), place(e.To)
		net.Edges = append(net.Edges, e)
	}
	return net
}
