package ndp

import (
	"slices"
	"time"
)

// hearing is when something was announced.
type hearing struct {
	at       Time // the last time
	repeated bool // at least twice
}

// heard returns the hearing of what has one.
func (h *hearing) heard() *hearing { return h }

// announced is something that routers announce, with its hearing.
type announced[T any] interface {
	*T
	heard() *hearing
}

// How long what was announced keeps its place, when there is no room for more.
const (
	onceStay     = time.Minute
	repeatedStay = time.Hour // twice the longest interval of a router (RFC 4861, section 6.2.1)
)

// stays reports whether what was heard keeps its place.
func (h *hearing) stays(now Time) bool {
	if h.repeated {
		return now-h.at < Time(repeatedStay)
	}
	return now-h.at < Time(onceStay)
}

// upsert updates the element that matches, or inserts one. A lifetime of zero removes it.
func upsert[T any, P announced[T]](all []T, new T, lifetime time.Duration, most int, same func(T) bool) []T {
	i := slices.IndexFunc(all, same)
	switch {
	case i >= 0 && lifetime == 0:
		return slices.Delete(all, i, i+1)
	case i >= 0:
		before := P(&all[i]).heard()
		P(&new).heard().repeated = before.repeated || P(&new).heard().at > before.at
		all[i] = new
	case lifetime > 0:
		return insert[T, P](all, new, most)
	}
	return all
}

// insert adds an element that was just heard, if there is room for it. If all places are taken, it
// takes that of an element of the second half that was not heard for some time. So a flood of
// forged advertisements displaces neither what was there before it, in the first half, nor what a
// router repeats; and what was forged does not shut out a router for longer than that time.
func insert[T any, P announced[T]](all []T, new T, most int) []T {
	if len(all) < most {
		return append(all, new)
	}
	oldest, now := -1, P(&new).heard().at
	for i := most / 2; i < len(all); i++ {
		if h := P(&all[i]).heard(); !h.stays(now) && (oldest < 0 || h.at < P(&all[oldest]).heard().at) {
			oldest = i
		}
	}
	if oldest >= 0 {
		all[oldest] = new
	}
	return all
}
