package irc

import "strings"

// Kinds of room modes, as CHANMODES and PREFIX name them.
const (
	RoomLists    = "b"      // with a mask, many
	RoomKeyed    = "k"      // with a parameter, also to unset
	RoomLimited  = "l"      // with a parameter to set
	RoomFlags    = "Cimnst" // without a parameter
	RoomRanks    = "ov"     // with a nick
	RankPrefixes = "@+"     // of RoomRanks
)

// Change is one change of a mode.
type Change struct {
	On    bool
	Mode  byte
	Param string // "" where there is none
}

// Changes parses the parameters of MODE behind the room. Modes that need a parameter and have none
// are left out, but for b, which then asks for the list. Unknown ones are in unknown.
func Changes(params []string) (changes []Change, unknown []byte) {
	if len(params) == 0 {
		return nil, nil
	}
	on, rest := true, params[1:]
	take := func() string {
		if len(rest) == 0 {
			return ""
		}
		p := rest[0]
		rest = rest[1:]
		return p
	}
	for i := 0; i < len(params[0]); i++ {
		c := params[0][i]
		change := Change{On: on, Mode: c}
		switch {
		case c == '+' || c == '-':
			on = c == '+'
			continue
		case strings.IndexByte(RoomFlags, c) >= 0, c == 'l' && !on:
		case strings.IndexByte(RoomLists, c) >= 0:
			change.Param = take()
		case strings.IndexByte(RoomKeyed+RoomLimited+RoomRanks, c) >= 0:
			if change.Param = take(); change.Param == "" && (on || c != 'k') {
				continue
			}
		default:
			unknown = append(unknown, c)
			continue
		}
		changes = append(changes, change)
	}
	return changes, unknown
}

// FormatChanges writes changes as parameters of MODE: the letters, then what belongs to them.
func FormatChanges(changes []Change) []string {
	var letters strings.Builder
	params := []string{""}
	sign := byte(0)
	for _, c := range changes {
		want := byte('-')
		if c.On {
			want = '+'
		}
		if want != sign {
			letters.WriteByte(want)
			sign = want
		}
		letters.WriteByte(c.Mode)
		if c.Param != "" {
			params = append(params, c.Param)
		}
	}
	params[0] = letters.String()
	return params
}
