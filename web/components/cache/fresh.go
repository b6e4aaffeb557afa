package cache

import (
	"net/http"
	"time"
)

// freshnessLifetime returns how long a response is fresh after its Date, and whether it states that
// itself (section 4.2.1). For a shared cache that is s-maxage, then max-age, then Expires minus
// Date.
func freshnessLifetime(c cacheControl, h http.Header, date time.Time) (life time.Duration, explicit bool) {
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

// heuristicLifetime returns the lifetime of a response that states none: a tenth of the time since
// its Last-Modified, at most a day (section 4.2.2).
func heuristicLifetime(status int, c cacheControl, h http.Header, date time.Time) time.Duration {
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil || !c.public && !heuristicallyCacheable(status) {
		return 0
	}
	return min(max(0, date.Sub(modified)/10), 24*time.Hour)
}

// heuristicallyCacheable reports whether responses with this status may be stored without explicit
// freshness information (RFC 9110, section 15.1). It excludes 206, which is not stored.
func heuristicallyCacheable(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// understoodStatus reports whether the cache knows the caching requirements of a status. These are
// all final statuses of RFC 9110, which have none, except 206 and 304.
func understoodStatus(status int) bool {
	return status >= 200 && http.StatusText(status) != "" && status != http.StatusPartialContent && status != http.StatusNotModified
}

// dateValue returns a response's Date, or when it was received if it has none (RFC 9110, section
// 6.6.1).
func dateValue(h http.Header, responseTime time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return responseTime
}

// correctedInitialAge returns the age of a response when it was received (section 4.2.3).
func correctedInitialAge(h http.Header, requestTime, responseTime time.Time) time.Duration {
	apparent := max(0, responseTime.Sub(dateValue(h, responseTime)))
	ageValue := time.Duration(0)
	if v := h["Age"]; v != nil {
		ageValue = deltaSeconds(v[0])
	}
	return max(apparent, ageValue+responseTime.Sub(requestTime))
}
