package host

import (
	"fmt"

	"weir/flow"
	"weir/flow/draw"
)

// drawings are the forms of a drawing.
var drawings = map[string]func(flow.Topology) string{"svg": draw.SVG, "dot": draw.DOT, "mermaid": draw.Mermaid}

// Draw is the network that packets go through on their way up, as it is now, with what has passed
// each edge: as a picture (svg), or in the language of Graphviz (dot) or Mermaid (mermaid).
func (h *Host) Draw(form string) (string, error) {
	in := drawings[form]
	if in == nil {
		return "", fmt.Errorf("host: there is no drawing as %q: choose svg, dot or mermaid", form)
	}
	return in(h.stack.Topology()), nil
}
