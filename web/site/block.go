package site

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir/web"
	"weir/web/components/proxy"
)

// block is a block of a site file that is being turned into a component.
type block struct {
	*hclsyntax.Block
	*loader
}

// loader holds the state of reading one site file.
type loader struct {
	environment
	parser         *hclparse.Parser
	size           int              // in bytes, of all texts read so far
	includes       int              // number of includes so far
	evaluation     *hcl.EvalContext // has the variables
	diags          hcl.Diagnostics
	closers        []io.Closer
	server         *Server              // the server whose pipeline is being read
	scope          []string             // type and labels of the blocks being read, outermost first
	identityCounts map[string]int       // number of blocks read so far with each identity
	upstreams      []proxyUpstreams     // of the server being read
	fileStart      hcl.Range            // the position of errors that have no other
	positions      map[string]hcl.Range // of components, by their Traits.Position
}

// addError adds an error with its position. summary says what is wrong, detail what to do.
func (l *loader) addError(at hcl.Range, summary, detail string) {
	l.diags = l.diags.Append(&hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}

// decode fills a config from the attributes of the block. It reports whether that succeeded.
func (b *block) decode(config any) bool {
	attributes := *b.Body
	attributes.Blocks = nil
	attributes.Attributes = listsOf(b.Body.Attributes, b.evaluation, reflect.TypeOf(config).Elem())
	diags := gohcl.DecodeBody(&attributes, b.evaluation, config)
	b.diags = append(b.diags, diags...)
	return !diags.HasErrors()
}

// listsOf returns the attributes of a block, with a single string for a list of strings turned into
// a list of one. An empty string is an empty list.
func listsOf(attributes hclsyntax.Attributes, evaluation *hcl.EvalContext, config reflect.Type) hclsyntax.Attributes {
	if config.Kind() != reflect.Struct {
		return attributes
	}
	all := maps.Clone(attributes)
	for _, f := range reflect.VisibleFields(config) {
		name, _, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		given := all[name]
		if given == nil || f.Type != reflect.TypeFor[[]string]() {
			continue
		}
		v, diags := given.Expr.Value(evaluation)
		if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
			continue
		}
		list := &hclsyntax.TupleConsExpr{SrcRange: given.Expr.Range(), OpenRange: given.Expr.StartRange()}
		if v.AsString() != "" {
			list.Exprs = []hclsyntax.Expression{given.Expr}
		}
		one := *given
		one.Expr = list
		all[name] = &one
	}
	return all
}

// hasNoBlocks reports whether the block contains no blocks, and adds an error if it does.
func (b *block) hasNoBlocks() bool {
	for _, inner := range b.Body.Blocks {
		b.addError(inner.TypeRange, "Component inside "+b.Type, fmt.Sprintf("%s has no components inside. Put %s before or behind it.", b.Type, inner.Type))
		return false
	}
	return true
}

// labelOr returns the label of the block, or other if it has none.
func (b *block) labelOr(other string) string {
	if len(b.Labels) == 0 {
		return other
	}
	return b.Labels[0]
}

// position returns a block's position as the composition's errors quote it, and remembers it.
func (l *loader) position(b *hclsyntax.Block) string {
	r := b.TypeRange
	name := fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
	l.positions[name] = r
	return name
}

// register sets a component's name and position, and has the site close it.
func (b *block) register(c web.Component) web.Component {
	if closer, ok := c.(io.Closer); ok {
		b.closers = append(b.closers, closer)
	}
	return b.withName(c)
}

// withName sets a component's name and position.
func (b *block) withName(c web.Component) web.Component {
	if p, ok := c.(*proxy.Proxy); ok {
		b.upstreams = append(b.upstreams, proxyUpstreams{b.labelOr(b.Type), p.Upstreams})
	}
	if len(b.Labels) > 1 {
		b.addError(b.LabelRanges[1], "Too many labels", fmt.Sprintf("%s has one label at most: its name in drawings.", b.Type))
	}
	return web.WithTraits(c, web.Traits{Name: b.labelOr(b.Type), Position: b.position(b.Block)})
}
