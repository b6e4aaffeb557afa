package tui

import "hash/fnv"

// style is the parameters of an SGR sequence, "" for none. All styles are constants of this file.
type style string

// Theme is the styles of the parts of the screen.
type Theme struct {
	Name                                                          string
	bar, dim, own, mention, link, unread, current, trouble, found style
	nicks                                                         []style
}

// Themes that are legible on common backgrounds. They use the 256-colour palette; None uses only
// attributes.
var (
	Dark = Theme{Name: "dark", bar: "38;5;252;48;5;237", dim: "38;5;246", own: "38;5;250", mention: "1;38;5;222", link: "4;38;5;117",
		unread: "1;38;5;222", current: "1;38;5;231;48;5;24", trouble: "38;5;210", found: "38;5;16;48;5;221",
		nicks: []style{"38;5;110", "38;5;114", "38;5;179", "38;5;175", "38;5;73", "38;5;216", "38;5;147", "38;5;150", "38;5;181", "38;5;80"}}
	Light = Theme{Name: "light", bar: "38;5;236;48;5;253", dim: "38;5;241", own: "38;5;240", mention: "1;38;5;94", link: "4;38;5;25",
		unread: "1;38;5;94", current: "1;38;5;231;48;5;25", trouble: "38;5;124", found: "38;5;16;48;5;222",
		nicks: []style{"38;5;25", "38;5;22", "38;5;94", "38;5;125", "38;5;23", "38;5;58", "38;5;55", "38;5;60", "38;5;88", "38;5;90"}}
	None = Theme{Name: "none", bar: "7", dim: "2", own: "", mention: "1", link: "4", unread: "1", current: "7", trouble: "1", found: "7",
		nicks: []style{"1"}}
)

// themes are the arguments of /theme.
var themes = map[string]Theme{"dark": Dark, "light": Light, "none": None}

// nick returns the style of a nick, always the same for one nick.
func (t Theme) nick(name string) style {
	h := fnv.New32a()
	h.Write([]byte(name))
	return t.nicks[h.Sum32()%uint32(len(t.nicks))]
}
