package chat

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/chat/irc"
)

// settings are what a room is besides its name, its messages and its members: what its state file
// says. Guarded by Service.mu. Only the stage that has the room's feed changes them, when the
// change is on the disk: see change.go.
type settings struct {
	made   time.Time
	former []string // folded names that the room had

	topic, topicBy string // "": none
	topicAt        time.Time
	flags          string // of irc.RoomFlags
	joinKey        string // "": none
	limit          int    // 0: none
	bans           []ban
	ranks          map[string]string // by folded account: of irc.RoomRanks

	// What the state file says that this version does not know: it is written again as it was.
	otherFlags string        // letters of modes
	otherLines []irc.Message // never changed; the first parameter is a name of the room
}

type ban struct {
	mask, by string
	at       time.Time
}

// newSettings are those of a room that is made now.
func newSettings(now time.Time) settings {
	return settings{made: now, flags: "nt", ranks: map[string]string{}}
}

// clone is a copy that can be changed.
func (x *settings) clone() settings {
	c := *x
	c.former, c.bans, c.ranks = slices.Clone(x.former), slices.Clone(x.bans), maps.Clone(x.ranks)
	return c
}

func (x *settings) has(flag byte) bool { return strings.IndexByte(x.flags, flag) >= 0 }

// modes are the room's modes as 324 shows them; the key is shown to members only.
func (x *settings) modes(member bool) []string {
	words := []string{"+" + x.flags}
	if x.joinKey != "" {
		words[0] += "k"
		if words = append(words, "*"); member {
			words[1] = x.joinKey
		}
	}
	if x.limit > 0 {
		words[0] += "l"
		words = append(words, strconv.Itoa(x.limit))
	}
	return words
}

// rank gives an account other ranks; "": none.
func (x *settings) rank(account, ranks string) {
	if x.ranks[account] = ranks; ranks == "" {
		delete(x.ranks, account)
	}
}

// wasCalled notes a name that the room had.
func (x *settings) wasCalled(name string) {
	if name = irc.Fold(name); !slices.Contains(x.former, name) {
		x.former = append(x.former, name)
	}
}
