package ndp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// TempLifetimes are the lifetimes of temporary addresses (RFC 8981, section 3.8). The zero value of
// a field means its default.
type TempLifetimes struct {
	// Preferred is how long new connections may have an address, less a random part of up to 40 %
	// (TEMP_PREFERRED_LIFETIME). Default a day
	Preferred time.Duration
	// Valid is how long an address exists (TEMP_VALID_LIFETIME): its connections end then. Default
	// two days
	Valid time.Duration
}

// Constants of RFC 8981, section 3.8, and limits of this package.
const (
	defaultTempPreferred = 24 * time.Hour
	defaultTempValid     = 48 * time.Hour
	// regenAdvance is how long before the end of an address its successor is made: 2 s, and 1 s for
	// each of the maxTries detections of a duplicate (REGEN_ADVANCE)
	regenAdvance = (2 + maxTries) * time.Second
	// desyncTenths is MAX_DESYNC_FACTOR, in tenths of the preferred lifetime
	desyncTenths = 4
	// maxTempsPerPrefix and maxTemps limit the temporary addresses of a prefix and of a link. At a
	// limit a new one waits for the end of another; the stable address is used meanwhile.
	maxTempsPerPrefix = 16
	maxTemps          = 64
)

// WithDefaults returns the lifetimes with their defaults, or an error if an address could not be
// replaced before its end (RFC 8981, section 3.8).
func (l TempLifetimes) WithDefaults() (TempLifetimes, error) {
	l.Preferred, l.Valid = cmp.Or(l.Preferred, defaultTempPreferred), cmp.Or(l.Valid, defaultTempValid)
	switch {
	case l.Preferred-l.maxDesync() <= regenAdvance:
		return l, fmt.Errorf("ndp: the preferred lifetime of temporary addresses is %v: make it 10 s or more", l.Preferred)
	case l.Valid <= l.Preferred:
		return l, fmt.Errorf("ndp: the valid lifetime of temporary addresses is %v: make it longer than the preferred one, %v", l.Valid, l.Preferred)
	}
	return l, nil
}

// maxDesync is MAX_DESYNC_FACTOR.
func (l *TempLifetimes) maxDesync() time.Duration { return l.Preferred / 10 * desyncTenths }

// temporary is a temporary address of a prefix (RFC 8981).
type temporary struct {
	addr netip.Addr
	// the ends of its lifetimes if the prefix lives longer
	preferredMost, validMost Time
	tries                    byte // duplicates before it
	deprecated               bool // at the last call of expire
}

// preferredUntil is when an address of the prefix is deprecated: neither the prefix nor the address
// is preferred for longer (RFC 8981, section 3.4, step 2).
func (t *temporary) preferredUntil(a *address) Time { return min(a.preferredUntil, t.preferredMost) }

// validUntil is when an address of the prefix ends.
func (t *temporary) validUntil(a *address) Time { return min(a.validUntil, t.validMost) }

// renewTemp makes a temporary address of a prefix if none is preferred for longer than
// regenAdvance, and the new one would be (RFC 8981, section 3.4, steps 3 to 6). tries counts the
// duplicates directly before it.
func (h *Host) renewTemp(a *address, tries byte, now Time) {
	isPreferred := func(until Time) bool { return until-now > Time(regenAdvance) }
	if !h.cfg.Temporary || a.tempsEnded || !isPreferred(a.preferredUntil) || len(a.temps) >= maxTempsPerPrefix || h.tempCount() >= maxTemps {
		return
	}
	if slices.ContainsFunc(a.temps, func(t temporary) bool { return isPreferred(t.preferredUntil(a)) }) {
		return
	}
	addr, ok := h.randomAddr(a.network)
	if !ok {
		return
	}
	l := &h.cfg.TempLifetimes
	desync := Time(h.cfg.Random() % uint64(l.maxDesync()+1))
	a.temps = append(a.temps, temporary{addr, now + Time(l.Preferred) - desync, now + Time(l.Valid), tries, false})
}

// tempCount counts the temporary addresses of all prefixes.
func (h *Host) tempCount() (n int) {
	for i := range h.addrs {
		n += len(h.addrs[i].temps)
	}
	return n
}

// randomAddr returns an address in a network of /64 whose identifier is random, neither reserved
// nor in use (RFC 8981, section 3.3.1).
func (h *Host) randomAddr(network netip.Prefix) (addr netip.Addr, ok bool) {
	b := network.Masked().Addr().As16()
	for range maxTries {
		binary.BigEndian.PutUint64(b[8:], h.cfg.Random())
		if addr = netip.AddrFrom16(b); !reserved([8]byte(b[8:])) && !h.has(addr) {
			return addr, true
		}
	}
	return addr, false
}

// has reports whether the host has made an address.
func (h *Host) has(addr netip.Addr) bool {
	return slices.ContainsFunc(h.addrs, func(a address) bool {
		return a.addr == addr || slices.ContainsFunc(a.temps, func(t temporary) bool { return t.addr == addr })
	})
}

// duplicateTemp replaces a temporary address that another host has. After maxTries in a row the
// prefix gets no further ones (RFC 8981, section 3.4, step 7).
func (h *Host) duplicateTemp(addr netip.Addr, now Time) {
	for i := range h.addrs {
		a := &h.addrs[i]
		n := slices.IndexFunc(a.temps, func(t temporary) bool { return t.addr == addr })
		if n < 0 {
			continue
		}
		tries := a.temps[n].tries + 1
		a.temps = slices.Delete(a.temps, n, n+1)
		a.tempsEnded = tries >= maxTries
		h.renewTemp(a, tries, now)
		return
	}
}

// expireTemps removes the temporary addresses of a prefix that are over, and makes their successor.
// It reports whether State has changed by that.
func (h *Host) expireTemps(a *address, now Time) (changed bool) {
	count := len(a.temps)
	a.temps = slices.DeleteFunc(a.temps, func(t temporary) bool { return t.validUntil(a) <= now })
	for i := range a.temps {
		t := &a.temps[i]
		if deprecated := t.preferredUntil(a) <= now; deprecated != t.deprecated {
			t.deprecated, changed = deprecated, true
		}
	}
	left := len(a.temps)
	h.renewTemp(a, 0, now)
	return changed || left != count || len(a.temps) != left
}

// appendTempDeadlines appends the times when something happens to the temporary addresses of a
// prefix.
func (a *address) appendTempDeadlines(all []Time) []Time {
	for i := range a.temps {
		until := a.temps[i].preferredUntil(a)
		all = append(all, until-Time(regenAdvance), until, a.temps[i].validUntil(a))
	}
	return all
}
