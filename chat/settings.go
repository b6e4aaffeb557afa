package chat

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/chat/irc"
)

// settings are the stored properties of a room besides its name, messages and members: the contents
// of its state file. Guarded by Service.mu. Only the commit stage that has the room changes them,
// after the change is on disk: see change.go.
type settings struct {
	createdAt   time.Time
	formerNames []string // former names, folded

	topic, topicSetBy string // "": none
	topicSetAt        time.Time
	flags             string // letters of irc.RoomFlags
	joinKey           string // "": none
	memberLimit       int    // 0: none
	bans              []ban
	accountRanks      map[string]string // by folded account: letters of irc.RoomRanks

	// Contents of the state file that this version does not know. They are written back unchanged.
	unknownFlags string        // mode letters
	unknownLines []irc.Message // immutable; the first parameter is a name of the room
}

type ban struct {
	mask, setBy string
	setAt       time.Time
}

// newSettings returns the settings of a room that is created now.
func newSettings(now time.Time) settings {
	return settings{createdAt: now, flags: "nt", accountRanks: map[string]string{}}
}

// clone returns a deep copy.
func (x *settings) clone() settings {
	c := *x
	c.formerNames, c.bans, c.accountRanks = slices.Clone(x.formerNames), slices.Clone(x.bans), maps.Clone(x.accountRanks)
	return c
}

func (x *settings) hasFlag(flag byte) bool { return strings.IndexByte(x.flags, flag) >= 0 }

// modeWords returns the room's modes as RPL_CHANNELMODEIS (324) shows them. Only members see the
// key.
func (x *settings) modeWords(member bool) []string {
	words := []string{"+" + x.flags}
	if x.joinKey != "" {
		words[0] += "k"
		if words = append(words, "*"); member {
			words[1] = x.joinKey
		}
	}
	if x.memberLimit > 0 {
		words[0] += "l"
		words = append(words, strconv.Itoa(x.memberLimit))
	}
	return words
}

// setAccountRanks replaces the ranks of an account; "" removes them.
func (x *settings) setAccountRanks(account, ranks string) {
	if x.accountRanks[account] = ranks; ranks == "" {
		delete(x.accountRanks, account)
	}
}

// addFormerName records a former name of the room.
func (x *settings) addFormerName(name string) {
	if name = irc.Fold(name); !slices.Contains(x.formerNames, name) {
		x.formerNames = append(x.formerNames, name)
	}
}
