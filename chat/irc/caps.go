package irc

import (
	"slices"
	"strings"
)

// Caps is a set of capabilities (https://ircv3.net/specs/extensions/capability-negotiation).
type Caps uint64

// The capabilities, in the order of capNames.
const (
	CapMessageTags Caps = 1 << iota
	CapServerTime
	CapBatch
	CapLabeledResponse
	CapEchoMessage
	CapStandardReplies
	CapAccountTag
	CapAccountNotify
	CapExtendedJoin
	CapAwayNotify
	CapMultiPrefix
	CapSetname
	CapUserhostInNames
	CapInviteNotify
	CapChghost
	CapCapNotify
	CapSASL
	CapSTS
	CapExtendedMonitor
	CapNoImplicitNames
	CapChathistory
	CapEventPlayback
	CapReadMarker
	CapRedaction
	CapMultiline
	CapRegistration
	CapMetadata
	CapRename
	CapPreAway
	CapSearch
	CapSojuSearch // draft/search with another name of its batch
	CapMetadata3

	AllCaps = CapMetadata3<<1 - 1

	// Version302 is not a capability: the client supports version 302 of the negotiation.
	Version302 Caps = 1 << 63
)

var capNames = []string{
	"message-tags", "server-time", "batch", "labeled-response", "echo-message", "standard-replies", "account-tag", "account-notify",
	"extended-join", "away-notify", "multi-prefix", "setname", "userhost-in-names", "invite-notify", "chghost", "cap-notify", "sasl", "sts",
	"extended-monitor", "draft/no-implicit-names", "draft/chathistory", "draft/event-playback", "draft/read-marker",
	"draft/message-redaction", "draft/multiline", "draft/account-registration", "draft/metadata-2", "draft/channel-rename", "draft/pre-away",
	"draft/search", "soju.im/search", "draft/metadata-3",
}

// Has reports whether the set contains all of c.
func (s Caps) Has(c Caps) bool { return s&c == c }

// HasMetadata reports whether the set contains a version of draft/metadata.
func (s Caps) HasMetadata() bool { return s&(CapMetadata|CapMetadata3) != 0 }

// Names returns the names in the set, without values.
func (s Caps) Names() []string {
	var names []string
	for i, n := range capNames {
		if s&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// List returns the words of CAP LS. Clients with version 302 also receive values (NAME=VALUE).
func (s Caps) List(values map[Caps]string, v302 bool) []string {
	names := s.Names()
	if !v302 {
		return slices.DeleteFunc(names, func(n string) bool { return n == "sts" })
	}
	for i, n := range names {
		if v := values[capOf(n)]; v != "" {
			names[i] = n + "=" + v
		}
	}
	return names
}

func capOf(name string) Caps {
	if i := slices.Index(capNames, name); i >= 0 {
		return 1 << i
	}
	return 0
}

// Fitting drops words from the end until the rest, joined by spaces, has at most size bytes.
func Fitting(words []string, size int) []string {
	for i, w := range words {
		if size -= len(w) + 1; size < -1 {
			return words[:i]
		}
	}
	return words
}

// Request applies a CAP REQ to the set; "-NAME" removes a capability. It applies all of the request
// or, with ok false, nothing of it: a capability is not offered, or must not be requested.
func (s Caps) Request(request string, offered Caps) (_ Caps, ok bool) {
	before := s
	for name := range strings.FieldsSeq(request) {
		name, off := strings.CutPrefix(name, "-")
		c := capOf(name)
		if c == 0 || offered&c == 0 || c == CapSTS || off && c == CapCapNotify && s.Has(Version302) {
			return before, false
		}
		if off {
			s &^= c
		} else {
			s |= c
		}
	}
	return s, true
}

// Wrap joins words by spaces to lines of at most size bytes. There is at least one line.
func Wrap(words []string, size int) []string {
	lines := []string{""}
	for _, w := range words {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case len(*last)+1+len(w) <= size:
			*last += " " + w
		default:
			lines = append(lines, w)
		}
	}
	return lines
}
