package irc

import "strings"

// Types of channel modes, as in ISUPPORT's CHANMODES and PREFIX.
const (
	RoomLists    = "b"      // lists of masks (type A)
	RoomKeyed    = "k"      // parameter to set and to unset (type B)
	RoomLimited  = "l"      // parameter to set only (type C)
	RoomFlags    = "Cimnst" // no parameter (type D)
	RoomRanks    = "ov"     // ranks of members; the parameter is a nick
	RankPrefixes = "@+"     // prefixes of RoomRanks
)

// Change is one mode change.
type Change struct {
	On    bool
	Mode  byte
	Param string // "": none
}

// Changes parses the parameters of MODE behind the channel. A mode without its required parameter
// is dropped, except b, which then requests the list. unknown has the unknown letters.
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

// FormatChanges returns changes as parameters of MODE: the letters, then their parameters.
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
