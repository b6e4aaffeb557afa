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

// of is a kind that is made of the attributes of its block, which are the fields of C that are
// tagged `hcl`.
func of[C any, P web.Component](about string, make func(C) (P, error)) Kind {
	return inSite(about, simply(make))
}

// inSite is of for a maker that needs more than the config.
func inSite[C any, P web.Component](about string, make func(*block, C) (P, error)) Kind {
	return Kind{About: about, build: func(b *block) web.Component {
		var config C
		if !b.decode(&config) || !b.hasNoBlocks() {
			return nil
		}
		c, err := make(b, config)
		if err != nil {
			b.fail(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.finish(c)
	}}
}

// lasting is of for a component that holds something which must survive when the site is read
// again: as long as its block says the same in the same place, it is the same component. Where its
// config names a folder, dir gives it; nil: it names none.
func lasting[C any, P web.Component](about string, make func(*block, C) (P, error), dir func(C) string) Kind {
	return Kind{About: about, build: func(b *block) web.Component {
		var config C
		if !b.decode(&config) || !b.hasNoBlocks() {
			return nil
		}
		identity := b.identity()
		if dir != nil {
			identity += folder(dir(config))
		}
		c, err := b.keep(identity, func() (any, error) { return make(b, config) })
		if err != nil {
			b.fail(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.named(c.(web.Component))
	}}
}

// simply is a maker that needs nothing but the config.
func simply[C any, P web.Component](make func(C) (P, error)) func(*block, C) (P, error) {
	return func(_ *block, c C) (P, error) { return make(c) }
}

// plain is a kind without attributes.
func plain(about string, make func() web.Component) Kind {
	return of(about, func(struct{}) (web.Component, error) { return make(), nil })
}
