package main

import (
	"fmt"

	"weir/flow/draw"
	"weir/web"
	"weir/web/site"
)

type serveDrawCmd struct {
	Site   string `arg:"" help:"The site file."`
	Format string `default:"svg" enum:"svg,dot,mermaid,json" help:"svg (for a browser), dot (for Graphviz), mermaid (for Markdown), or json."`
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
	file, err := enter(c.Site)
	if err != nil {
		return err
	}
	s, err := site.Check(file)
	if err != nil {
		return explain(t, err)
	}
	defer s.Close()
	h, err := web.New(s.Pipe, web.Options{Way: s.Server.Way()})
	if err != nil {
		return err
	}
	defer h.Close()
	switch net := h.Topology(); c.Format {
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
