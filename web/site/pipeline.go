package site

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/web"
)

const routeBlock = "route"

// pipeline makes a chain of the blocks of a body, nil when one can't be made. Attributes belong to
// whose body it is, if to anybody.
func (l *loading) pipeline(body *hclsyntax.Body, attributes bool) web.Component {
	if !attributes {
		for _, a := range body.Attributes {
			l.fail(a.NameRange, "Unexpected attribute", fmt.Sprintf("Here stand components, which are blocks: %s { ... }.", a.Name))
		}
	}
	var parts []web.Component
	routes := l.routes(body.Blocks)
	for i, b := range body.Blocks {
		switch {
		case b.Type != routeBlock:
			parts = append(parts, l.component(b))
		case i == routes.first:
			parts = append(parts, l.branch(routes.blocks))
		}
	}
	if l.diags.HasErrors() {
		return nil
	}
	return web.Chain(parts...)
}

// component makes what a block names.
func (l *loading) component(b *hclsyntax.Block) web.Component {
	k, ok := kinds[b.Type]
	if !ok {
		l.fail(b.TypeRange, "Unknown component", fmt.Sprintf("There is no component %q%s", b.Type, suggestion(b.Type)))
		return nil
	}
	defer l.within(b)()
	return k.build(&block{b, l})
}

// within notes that what is read now stands in a block. What it returns is called behind the block.
func (l *loading) within(b *hclsyntax.Block) func() {
	l.scope = append(l.scope, fmt.Sprintf("%s%q", b.Type, b.Labels))
	return func() { l.scope = l.scope[:len(l.scope)-1] }
}

// suggestion is the name that was probably meant.
func suggestion(given string) string {
	names := append(slices.Sorted(maps.Keys(kinds)), routeBlock)
	if given == "server" {
		return " here: the block server stands in the file itself, beside the pipeline."
	}
	best := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.Distance(given, a, nil) - levenshtein.Distance(given, b, nil)
	})
	if levenshtein.Distance(given, best, nil) > 3 {
		return "; weir serve components lists those there are."
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// routed are the routes of a pipeline.
type routed struct {
	first  int // of the blocks
	blocks []*hclsyntax.Block
}

// routes collects the routes of a pipeline, which must stand together.
func (l *loading) routes(blocks []*hclsyntax.Block) (r routed) {
	for i, b := range blocks {
		if b.Type != routeBlock {
			continue
		}
		if len(r.blocks) == 0 {
			r.first = i
		} else if blocks[i-1].Type != routeBlock {
			l.fail(blocks[i-1].TypeRange, "Component between routes", fmt.Sprintf(
				"All routes of a pipeline are one branch of it. Put %s before the first route, behind the last, or into one.", blocks[i-1].Type))
		}
		r.blocks = append(r.blocks, b)
	}
	return r
}

// branch makes the branch of some routes.
func (l *loading) branch(blocks []*hclsyntax.Block) web.Component {
	arms := make([]web.Arm, 0, len(blocks))
	for _, b := range blocks {
		if len(b.Labels) != 1 {
			l.fail(b.TypeRange, "A route has one label", `It is the pattern of the requests that take it, such as route "/js/" { ... }.`)
			continue
		}
		behind := l.within(b)
		arms = append(arms, web.Arm{Pattern: b.Labels[0], Component: l.pipeline(b.Body, false)})
		behind()
		if _, err := web.Routes(arms...); err != nil {
			l.fail(b.LabelRanges[0], "Invalid route", err.Error())
			arms = arms[:len(arms)-1]
		}
	}
	c, err := web.Routes(arms...)
	if err != nil {
		return nil // said above
	}
	return web.With(c, web.Traits{Place: l.place(blocks[0])})
}
