package site

import (
	"maps"
	"slices"

	"weir/web"
)

// Kind is a component that a site file can name.
type Kind struct {
	Name  string
	About string // one line
	build func(b *block) web.Component
}

// Kinds lists the components that a site file can name, by name.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds))
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		k.Name = name
		all = append(all, k)
	}
	return all
}

// of is a kind that is made of the attributes of its block, which are the fields of C that are tagged `hcl`.
func of[C any, P web.Component](about string, make func(C) (P, error)) Kind {
	return Kind{About: about, build: func(b *block) web.Component {
		var config C
		if !b.decode(&config) || !b.hasNoBlocks() {
			return nil
		}
		c, err := make(config)
		if err != nil {
			b.fail(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.finish(c)
	}}
}

// checked is of for a component that would leave a trace: when the site is only looked at, check stands for make.
func checked[C any, P web.Component](about string, make, check func(C) (P, error)) Kind {
	serves, looks := of(about, make), of(about, check)
	return Kind{About: about, build: func(b *block) web.Component {
		if b.looking {
			return looks.build(b)
		}
		return serves.build(b)
	}}
}

// plain is a kind without attributes.
func plain(about string, make func() web.Component) Kind {
	return of(about, func(struct{}) (web.Component, error) { return make(), nil })
}

// around is a kind with a pipeline inside.
func around[C any](about string, make func(C, web.Component) (web.Component, error)) Kind {
	return Kind{About: about, build: func(b *block) web.Component {
		var config C
		inner := b.pipeline(b.Body, true)
		if !b.decode(&config) || inner == nil {
			return nil
		}
		c, err := make(config, inner)
		if err != nil {
			b.fail(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.finish(c)
	}}
}
