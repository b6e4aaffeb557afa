package site

import (
	"fmt"
	"reflect"

	"weir/web"
)

// guardKind returns a kind with two pipelines inside, the blocks allowed and refused. Without them
// it is a plain component of its pipeline.
func guardKind[C any](about string, make func(b *block, config C, allowed web.Component, refused ...web.Component) (web.Component, error)) Kind {
	return Kind{About: about, Config: reflect.TypeFor[C](), build: func(b *block) web.Component {
		var config C
		var allowed web.Component
		var refused []web.Component
		seen := map[string]bool{}
		for _, arm := range b.Body.Blocks {
			if seen[arm.Type] {
				b.addError(arm.TypeRange, "Second "+arm.Type, fmt.Sprintf("%s has one block %s: put all components into it.", b.Type, arm.Type))
			}
			seen[arm.Type] = true
			switch arm.Type {
			case "allowed":
				allowed = b.pipeline(arm.Body, false)
			case "refused":
				refused = append(refused, b.pipeline(arm.Body, false))
			default:
				b.addError(arm.TypeRange, "Component inside "+b.Type, fmt.Sprintf("%s has two blocks inside: allowed { ... } and refused { ... }. Put %s into one.", b.Type, arm.Type))
			}
		}
		if !b.decode(&config) || b.diags.HasErrors() {
			return nil
		}
		c, err := make(b, config, allowed, refused...)
		if err != nil {
			b.addError(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.register(c)
	}}
}
