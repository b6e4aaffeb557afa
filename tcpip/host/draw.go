package host

import (
	"fmt"

	"weir/flow"
	"weir/flow/draw"
)

// drawings has the formats of a drawing.
var drawings = map[string]func(flow.Topology) string{"svg": draw.SVG, "dot": draw.DOT, "mermaid": draw.Mermaid}

// Draw returns a drawing of the net of layers that received packets pass through, with the counter
// of each edge: as a picture (svg), or in the language of Graphviz (dot) or Mermaid (mermaid).
func (h *Host) Draw(form string) (string, error) {
	in := drawings[form]
	if in == nil {
		return "", fmt.Errorf("host: unknown format %q of a drawing: use svg, dot or mermaid", form)
	}
	return in(h.stack.Topology()), nil
}
