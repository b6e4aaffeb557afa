package main

import (
	"context"
	"io"
)

type stackDrawCmd struct {
	hostFlags

	Format string `default:"svg" enum:"svg,dot,mermaid" help:"svg (for a browser), dot (for Graphviz) or mermaid (for Markdown)."`
}

// Help is the long part of the command's help.
func (c *stackDrawCmd) Help() string {
	return `Each box is a layer of the stack; each arrow shows how many packets went up that way since the host started. With --run network the boxes are goroutines and the arrows queues, with their waiting and dropped packets.

Examples:

  weir stack draw > stack.svg
  weir stack draw --format mermaid`
}

// Run implements the command.
func (c *stackDrawCmd) Run(ctx context.Context, t *terminal) error {
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	drawing, err := h.Draw(ctx, c.Format)
	if err != nil {
		return err
	}
	_, err = io.WriteString(t.out, drawing)
	return err
}
