package site

import (
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/web"
	"weir/web/components/proxy"
)

// block is a block of a site file that is being turned into a component.
type block struct {
	*hclsyntax.Block
	*loading
}

// loading is what is known of a file while it is read.
type loading struct {
	surroundings
	diags     hcl.Diagnostics
	closers   []io.Closer
	server    *Server        // what the block server says
	scope     []string       // the blocks around what is read, the outermost first
	alike     map[string]int // how many have had an identity so far
	upstreams []upstreams
	whole     hcl.Range            // where the file begins, for what has no place in it
	places    map[string]hcl.Range // of components, by what the composition calls them
}

// fail notes what is wrong, where, and what to do.
func (l *loading) fail(at hcl.Range, summary, detail string) {
	l.diags = l.diags.Append(&hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}

// decode fills in the fields of a config from the attributes of the block.
func (b *block) decode(config any) bool {
	attributes := *b.Body
	attributes.Blocks = nil
	diags := gohcl.DecodeBody(&attributes, nil, config)
	b.diags = append(b.diags, diags...)
	return !diags.HasErrors()
}

func (b *block) hasNoBlocks() bool {
	for _, inner := range b.Body.Blocks {
		b.fail(inner.TypeRange, "Component inside "+b.Type, fmt.Sprintf("%s has no components inside. Put %s before or behind it.", b.Type, inner.Type))
		return false
	}
	return true
}

// name is the label of the block, or what else it is called.
func (b *block) name(other string) string {
	if len(b.Labels) == 0 {
		return other
	}
	return b.Labels[0]
}

// place is what the composition calls where a block stands, for its errors.
func (l *loading) place(b *hclsyntax.Block) string {
	r := b.TypeRange
	name := fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
	l.places[name] = r
	return name
}

// finish gives a component its name and place, and remembers that it is to be closed.
func (b *block) finish(c web.Component) web.Component {
	if closer, ok := c.(io.Closer); ok {
		b.closers = append(b.closers, closer)
	}
	return b.named(c)
}

// named gives a component its name and place.
func (b *block) named(c web.Component) web.Component {
	if p, ok := c.(*proxy.Proxy); ok {
		b.upstreams = append(b.upstreams, upstreams{b.name(b.Type), p.Upstreams})
	}
	if len(b.Labels) > 1 {
		b.fail(b.LabelRanges[1], "Too many labels", fmt.Sprintf("%s has one label at most: its name in drawings.", b.Type))
	}
	return web.With(c, web.Traits{Name: b.name(b.Type), Place: b.place(b.Block)})
}
