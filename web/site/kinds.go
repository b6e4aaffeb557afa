package site

import (
	"maps"
	"reflect"
	"slices"

	"weir/web"
)

// Kind is a component that site files can name.
type Kind struct {
	Name   string
	About  string       // a description in one line
	Config reflect.Type // a struct: the fields with the tag hcl are the attributes
	build  func(b *block) web.Component
}

// Kinds lists the components that a site file can name, sorted by name.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds))
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		k.Name = name
		all = append(all, k)
	}
	return all
}

// simpleKind returns a kind whose configuration C is the attributes of its block: the fields of C
// with the tag `hcl`.
func simpleKind[C any, P web.Component](about string, make func(C) (P, error)) Kind {
	return blockKind(about, configOnly(make))
}

// blockKind is simpleKind for a constructor that needs the block, too.
func blockKind[C any, P web.Component](about string, make func(*block, C) (P, error)) Kind {
	return Kind{About: about, Config: reflect.TypeFor[C](), build: func(b *block) web.Component {
		var config C
		if !b.decode(&config) || !b.hasNoBlocks() {
			return nil
		}
		c, err := make(b, config)
		if err != nil {
			b.addError(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.register(c)
	}}
}

// statefulKind is simpleKind for a component with state that survives a reload: as long as the
// block has the same content in the same place, it is the same component. dir returns the folder
// that the config names; a nil dir means that it names none.
func statefulKind[C any, P web.Component](about string, make func(*block, C) (P, error), dir func(C) string) Kind {
	return Kind{About: about, Config: reflect.TypeFor[C](), build: func(b *block) web.Component {
		var config C
		if !b.decode(&config) || !b.hasNoBlocks() {
			return nil
		}
		identity := b.identity()
		if dir != nil {
			identity += folderIdentity(dir(config))
		}
		c, err := b.ownState(identity, func() (any, error) { return make(b, config) })
		if err != nil {
			b.addError(b.TypeRange, "Invalid "+b.Type, err.Error())
			return nil
		}
		return b.withName(c.(web.Component))
	}}
}

// configOnly adapts a constructor that needs only the config.
func configOnly[C any, P web.Component](make func(C) (P, error)) func(*block, C) (P, error) {
	return func(_ *block, c C) (P, error) { return make(c) }
}

// plainKind returns a kind without attributes.
func plainKind(about string, make func() web.Component) Kind {
	return simpleKind(about, func(struct{}) (web.Component, error) { return make(), nil })
}
