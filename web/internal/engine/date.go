package engine

import (
	"net/http"
	"sync/atomic"
	"time"
)

// formattedDate is the value of a Date field (RFC 9110, section 6.6.1) and the second that it is
// for.
type formattedDate struct {
	unix int64
	text string
}

var lastDate atomic.Pointer[formattedDate]

// dateField returns the value of a Date field. It formats once a second.
func dateField(now time.Time) string {
	unix := now.Unix()
	if d := lastDate.Load(); d != nil && d.unix == unix {
		return d.text
	}
	d := &formattedDate{unix, now.UTC().Format(http.TimeFormat)}
	lastDate.Store(d)
	return d.text
}
