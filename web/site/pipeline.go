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

// pipeline makes a chain of the blocks of a body, or nil if there are errors. attributes says that
// the enclosing block uses the body's attributes; otherwise they are errors.
func (l *loader) pipeline(body *hclsyntax.Body, attributes bool) web.Component {
	if !attributes {
		for _, a := range body.Attributes {
			l.addError(a.NameRange, "Unexpected attribute", fmt.Sprintf("This body contains components, which are blocks: %s { ... }.", a.Name))
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

// component makes the component of a block.
func (l *loader) component(b *hclsyntax.Block) web.Component {
	k, ok := kinds[b.Type]
	if !ok {
		l.addError(b.TypeRange, "Unknown component", fmt.Sprintf("There is no component %q%s", b.Type, suggestion(b.Type)))
		return nil
	}
	defer l.enterBlock(b)()
	return k.build(&block{b, l})
}

// enterBlock adds a block to the scope and returns a function that removes it.
func (l *loader) enterBlock(b *hclsyntax.Block) func() {
	l.scope = append(l.scope, fmt.Sprintf("%s%q", b.Type, b.Labels))
	return func() { l.scope = l.scope[:len(l.scope)-1] }
}

// suggestion returns the end of an error message: the component that was probably meant.
func suggestion(given string) string {
	names := append(slices.Sorted(maps.Keys(kinds)), routeBlock)
	if given == "server" {
		return ` here: the "server" block stands in the file itself, beside the pipeline.`
	}
	if given == variableBlock {
		return ` here: variables stand in the file itself, beside the pipeline.`
	}
	best := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.Distance(given, a, nil) - levenshtein.Distance(given, b, nil)
	})
	if levenshtein.Distance(given, best, nil) > 3 {
		return "; weir serve components lists those there are."
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// routeBlocks are the routes of a pipeline.
type routeBlocks struct {
	first  int // index in the pipeline's blocks
	blocks []*hclsyntax.Block
}

// routes collects the routes of a pipeline, which must be adjacent.
func (l *loader) routes(blocks []*hclsyntax.Block) (r routeBlocks) {
	for i, b := range blocks {
		if b.Type != routeBlock {
			continue
		}
		if len(r.blocks) == 0 {
			r.first = i
		} else if blocks[i-1].Type != routeBlock {
			l.addError(blocks[i-1].TypeRange, "Component between routes", fmt.Sprintf(
				"All routes of a pipeline are one branch of it. Put %s before the first route, behind the last, or into one.", blocks[i-1].Type))
		}
		r.blocks = append(r.blocks, b)
	}
	return r
}

// branch makes a branch of routes.
func (l *loader) branch(blocks []*hclsyntax.Block) web.Component {
	arms := make([]web.Arm, 0, len(blocks))
	for _, b := range blocks {
		if len(b.Labels) != 1 {
			l.addError(b.TypeRange, "A route has one label", `It is the pattern of the requests that take it, such as route "/js/" { ... }.`)
			continue
		}
		behind := l.enterBlock(b)
		arms = append(arms, web.Arm{Pattern: b.Labels[0], Component: l.pipeline(b.Body, false)})
		behind()
		if _, err := web.Routes(arms...); err != nil {
			l.addError(b.LabelRanges[0], "Invalid route", err.Error())
			arms = arms[:len(arms)-1]
		}
	}
	c, err := web.Routes(arms...)
	if err != nil {
		return nil // the error was added above
	}
	return web.WithTraits(c, web.Traits{Position: l.position(blocks[0])})
}
