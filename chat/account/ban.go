package account

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/chat/irc"
)

const (
	maxPattern = 200 // length limit of a pattern, in bytes
	maxReason  = 300 // length limit of a reason with its author, in bytes; it fits into a reply
)

// ErrBan is wrapped by the errors of an invalid ban.
var ErrBan = errors.New("account: not a ban")

// Ban excludes clients from the server.
type Ban struct {
	// Pattern is an account name, an address (192.0.2.7, 2001:db8::1), a network (192.0.2.0/24), or
	// a mask NICK!USER@HOST, in which * stands for any bytes and ? for one.
	Pattern string    `json:"pattern"`
	Reason  string    `json:"reason,omitempty"` // shown to the banned client
	By      string    `json:"by,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Until   time.Time `json:"until,omitzero"` // zero: does not expire

	network netip.Prefix // valid if the pattern is an address or a network
	isMask  bool
}

// Client describes a client to be compared with bans. Unknown fields are empty.
type Client struct {
	Account string     // account name
	Addr    netip.Addr // remote address
	Mask    string     // nick!user@host
}

// parsePattern determines the kind of a pattern. The kinds are unambiguous, because no account name
// starts with a digit or contains a colon.
func parsePattern(pattern string) (b Ban, err error) {
	b.Pattern = pattern
	if pattern == "" || len(pattern) > maxPattern || strings.ContainsFunc(pattern, notInPattern) || !utf8.ValidString(pattern) {
		return b, fmt.Errorf("%w: a pattern has 1 to %d bytes and no space", ErrBan, maxPattern)
	}
	if addr, err := netip.ParseAddr(pattern); err == nil {
		addr = addr.Unmap().WithZone("")
		b.network = netip.PrefixFrom(addr, addr.BitLen())
		b.Pattern = addr.String()
		return b, nil
	}
	if network, err := netip.ParsePrefix(pattern); err == nil {
		return networkBan(network)
	}
	if strings.ContainsAny(pattern, "*?!@") {
		b.isMask = true
		if strings.Trim(pattern, "*?!@") == "" {
			return b, fmt.Errorf("%w: %s matches every client", ErrBan, pattern)
		}
		return b, nil
	}
	if err := CheckName(pattern); err != nil {
		return b, fmt.Errorf("%w: %q is not an account name, an address, a network or a mask", ErrBan, pattern)
	}
	return b, nil
}

func networkBan(network netip.Prefix) (Ban, error) {
	if network.Addr().Is4In6() && network.Bits() >= 96 {
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	if network.Bits() == 0 {
		return Ban{}, fmt.Errorf("%w: %s matches every client", ErrBan, network)
	}
	network = network.Masked()
	return Ban{Pattern: network.String(), network: network}, nil
}

func notInPattern(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }

// banIndex holds the parsed file of bans. A line is PATTERN KEY=VALUE...
type banIndex struct {
	table    *table
	accounts map[string]Ban // by folded name
	others   []Ban
	problems []error
}

func parseBans(path string, data []byte) *banIndex {
	b := &banIndex{table: parseTable(data), accounts: map[string]Ban{}}
	for _, r := range b.table.lines {
		if r.fields == nil && r.err == nil {
			continue
		}
		ban, err := parseBan(r)
		switch {
		case err != nil:
			b.problems = append(b.problems, fmt.Errorf("%s:%d: %w: this ban has no effect until the line is corrected", path, r.number, err))
		case ban.isMask || ban.network.IsValid():
			b.others = append(b.others, ban)
		default:
			b.accounts[irc.Fold(ban.Pattern)] = ban
		}
	}
	return b
}

func parseBan(r *record) (Ban, error) {
	if r.err != nil {
		return Ban{}, r.err
	}
	b, err := parsePattern(r.word(0))
	if err != nil {
		return b, err
	}
	b.Reason, b.By = r.get("reason"), r.get("by")
	if b.Created, err = parseTime(r.get("created")); err == nil {
		b.Until, err = parseTime(r.get("until"))
	}
	if err != nil {
		err = errors.New("until= or created= is not a time like 2026-11-21T11:30:00Z")
	}
	return b, err
}

// isExpired reports whether the ban has expired.
func (b Ban) isExpired(now time.Time) bool { return !b.Until.IsZero() && !now.Before(b.Until) }

// matches reports whether the pattern matches the client. It ignores the expiry.
func (b Ban) matches(c Client) bool {
	switch {
	case b.isMask:
		return matchesPattern(irc.Fold(b.Pattern), irc.Fold(c.Mask))
	case b.network.IsValid():
		return c.Addr.IsValid() && b.network.Contains(c.Addr.Unmap().WithZone(""))
	}
	return irc.Fold(b.Pattern) == irc.Fold(c.Account)
}

// matchesPattern reports whether text matches a pattern in which * stands for any bytes and ? for
// one. It takes at most len(pattern) x len(text) steps.
func matchesPattern(pattern, text string) bool {
	star, from, p := -1, 0, 0
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Banned returns the ban that matches a client at the time now, if there is one. A server calls it
// when a client connects (address), logs in (account) and registers (mask). When Generation has
// grown it calls it for every client.
func (s *Store) Banned(c Client, now time.Time) (Ban, bool) {
	banned := s.currentBans()
	if b, ok := banned.accounts[irc.Fold(c.Account)]; ok && c.Account != "" && !b.isExpired(now) {
		return b, true
	}
	for _, b := range banned.others {
		if !b.isExpired(now) && b.matches(c) {
			return b, true
		}
	}
	return Ban{}, false
}

// Bans returns all bans that have not expired: those of accounts by name, then the others in the
// order of the file.
func (s *Store) Bans() []Ban {
	banned := s.currentBans()
	var all []Ban
	for _, b := range banned.accounts {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Ban) int { return strings.Compare(irc.Fold(a.Pattern), irc.Fold(b.Pattern)) })
	now := s.opts.Now()
	return slices.DeleteFunc(append(all, banned.others...), func(b Ban) bool { return b.isExpired(now) })
}

// Ban adds a ban, or replaces the ban of the same pattern. It sets Created.
func (s *Store) Ban(b Ban) (Ban, error) {
	clean, err := parsePattern(b.Pattern)
	if err != nil {
		return Ban{}, err
	}
	if text := b.Reason + b.By; len(text) > maxReason || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return Ban{}, fmt.Errorf("%w: reason and author have at most %d bytes together, and no control characters", ErrBan, maxReason)
	}
	now := s.opts.Now()
	if b.isExpired(now) {
		return Ban{}, fmt.Errorf("%w: its end is in the past", ErrBan)
	}
	clean.Reason, clean.By = b.Reason, b.By
	clean.Until, clean.Created = b.Until.UTC().Truncate(time.Second), now.UTC().Truncate(time.Second)
	return clean, s.changeFiles(func(files *fileContents) error {
		files.bans.dropOld(now)
		files.bans.drop(clean.Pattern)
		r := files.bans.table.add(clean.Pattern)
		r.set("created", formatTime(clean.Created))
		r.set("until", formatTime(clean.Until))
		r.set("by", clean.By)
		r.set("reason", clean.Reason)
		files.dirty["bans"] = files.bans.table
		return nil
	})
}

// Unban removes the ban of a pattern.
func (s *Store) Unban(pattern string) error {
	if clean, err := parsePattern(pattern); err == nil {
		pattern = clean.Pattern
	}
	return s.changeFiles(func(files *fileContents) error {
		if !files.bans.drop(pattern) {
			return fmt.Errorf("%w ban: %q", ErrUnknown, pattern)
		}
		files.dirty["bans"] = files.bans.table
		return nil
	})
}

func (b *banIndex) drop(pattern string) (found bool) {
	b.table.keep(func(r *record) bool {
		clean, err := parsePattern(r.word(0))
		same := err == nil && irc.Fold(clean.Pattern) == irc.Fold(pattern) || r.word(0) == pattern
		found = found || same
		return !same
	})
	return found
}

func (b *banIndex) dropOld(now time.Time) {
	b.table.keep(func(r *record) bool {
		ban, err := parseBan(r)
		return err != nil || !ban.isExpired(now)
	})
}
