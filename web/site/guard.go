package site

import (
	"fmt"

	"weir/web"
)

// guard is a kind with two pipelines inside: allowed and refused. Without them it stands in its pipeline as a plain component.
func guard[C any](about string, make func(config C, allowed web.Component, refused ...web.Component) (web.Component, error)) Kind {
	return Kind{About: about, build: func(b *block) web.Component {
		var config C
		var allowed web.Component
		var refused []web.Component
		for _, arm := range b.Body.Blocks {
			switch arm.Type {
			case "allowed":
				allowed = b.pipeline(arm.Body, false)
			case "refused":
				refused = append(refused, b.pipeline(arm.Body, false))
			default:
				b.fail(arm.TypeRange, "Component inside "+b.Type, fmt.Sprintf("%s has two blocks inside: allowed { ... } and refused { ... }. Put %s into one.", b.Type, arm.Type))
			}
		}
		if !b.decode(&config) || b.diags.HasErrors() {
			return nil
		}
		c, err := make(config, allowed, refused...)
		if err != nil {
			b.fail(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.finish(c)
	}}
}
