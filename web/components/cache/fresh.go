package cache

import (
	"net/http"
	"time"
)

// lifetime is how long a response is fresh after it was made, and whether it says so itself
// (section 4.2.1): for a shared cache s-maxage, then max-age, then Expires minus Date.
func lifetime(c control, h http.Header, date time.Time) (life time.Duration, explicit bool) {
	switch {
	case c.sMaxAge >= 0:
		return c.sMaxAge, true
	case c.maxAge >= 0:
		return c.maxAge, true
	case h["Expires"] != nil:
		expires, err := http.ParseTime(h.Get("Expires"))
		// "especially the value "0", as representing a time in the past" (section 5.3)
		if err != nil {
			return 0, true
		}
		return max(0, expires.Sub(date)), true
	}
	return 0, false
}

// heuristic is the lifetime of a response that does not say one: a tenth of its age then, a day at
// most (section 4.2.2).
func heuristic(status int, c control, h http.Header, date time.Time) time.Duration {
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil || !c.public && !heuristically(status) {
		return 0
	}
	return min(max(0, date.Sub(modified)/10), 24*time.Hour)
}

// heuristically says whether a status may be kept without being told so (RFC 9110 section 15.1),
// but for 206.
func heuristically(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// understood says whether the cache knows what a status asks of caches: all final ones of RFC 9110,
// which ask nothing special, but 206 and 304.
func understood(status int) bool {
	return status >= 200 && http.StatusText(status) != "" && status != http.StatusPartialContent && status != http.StatusNotModified
}

// dateOf is when a response was made: when it came if it does not say (RFC 9110 section 6.6.1).
func dateOf(h http.Header, came time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return came
}

// initialAge is how old a response was when it came (section 4.2.3).
func initialAge(h http.Header, asked, came time.Time) time.Duration {
	apparent := max(0, came.Sub(dateOf(h, came)))
	said := time.Duration(0)
	if v := h["Age"]; v != nil {
		said = seconds(v[0])
	}
	return max(apparent, said+came.Sub(asked))
}
