package websocket

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"weir/lab/contract"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
	"weir/lab/workload/http/httpload"
	"weir/lab/workload/http/wsload"
)

// Load is the messages offered to a subject. Without a Rate the loop is closed: a connection sends
// its next message when it has the answer to the last.
type Load struct {
	workload.Common
	// arrival pattern of messages with a rate: staggered, together or poisson; empty: staggered
	Arrivals string   `toml:"pattern"`
	Path     string   `toml:"path"`    // of the upgrade; empty: "/"
	Headers  []string `toml:"headers"` // further fields of the upgrade, as "Name: value"
	// content of every message, which is text; empty: Size bytes, which differ between messages
	Message string `toml:"message"`
	Size    int    `toml:"size"` // bytes of a message without Message; 0: 100
	Text    bool   `toml:"text"` // messages are text; else binary
	// the answer must be the message; without Message it must be in any case. Otherwise any message
	// is an answer
	Echo bool `toml:"echo"`

	http.Encryption
}

const (
	defaultSize = 100
	maxMessage  = 64 << 10 // bytes of Message, which is an argument of the generator
)

// pathForm matches the path and the query of the upgrade.
var pathForm = regexp.MustCompile(`^/[!$-;=?-Z_a-z~]*$`)

// Clone implements workload.Load.
func (l *Load) Clone() workload.Load { c := *l; return &c }

// Pattern implements workload.Load.
func (l *Load) Pattern() string { return l.LoopPattern(l.Arrivals) }

// Check implements workload.Load.
func (l *Load) Check(in workload.Context) string {
	workload.SetDefault(&l.Path, "/")
	if l.Message == "" {
		workload.SetDefault(&l.Size, defaultSize)
		l.Echo = true
	} else {
		l.Text = true
	}
	if bad := cmp.Or(l.CheckLoop("messages", l.Arrivals, in.Connections, wsload.MaxRate), l.Encryption.Check()); bad != "" {
		return bad
	}
	switch {
	case !pathForm.MatchString(l.Path):
		return fmt.Sprintf("the path %q is not that of an upgrade: write for example /chat?room=a", l.Path)
	case l.Message != "" && l.Size != 0:
		return "message and size each give the message: leave one of them out"
	case len(l.Message) > maxMessage || !utf8.ValidString(l.Message) || strings.ContainsRune(l.Message, 0):
		return fmt.Sprintf("the message must be valid text of at most %d bytes, without zero bytes: give size for others", maxMessage)
	case l.Size < 0 || l.Size > wsload.MaxSize:
		return fmt.Sprintf("messages of %d bytes are out of range: give 1 to %d", l.Size, wsload.MaxSize)
	}
	if err := httpload.CheckMix([]httpload.Request{{Headers: l.Headers}}); err != nil {
		return strings.TrimPrefix(err.Error(), "load: ")
	}
	return ""
}

// bytes returns the size of a message.
func (l *Load) bytes() int { return l.Size + len(l.Message) }

// Recorded implements workload.Load.
func (l *Load) Recorded() result.Load {
	r := l.Common.Recorded()
	r.Size, r.Requests.Path, r.Requests.Pattern, r.Requests.TLS = l.bytes(), l.Path, l.Arrivals, l.TLS
	switch {
	case l.Message != "" && l.Echo:
		r.Requests.Mix = fmt.Sprintf("%.40q, echoed", l.Message)
	case l.Message != "":
		r.Requests.Mix = fmt.Sprintf("%.40q, answered by any message", l.Message)
	}
	return r
}

// Meets implements workload.Load: it reports whether a subject can meet the load.
func (l *Load) Meets(s *subject.Subject, elsewhere bool) bool {
	return l.Encryption.Meets(s, elsewhere)
}

// Needs implements workload.Load.
func (l *Load) Needs() string { return l.Encryption.Needs() }

// Contract implements workload.Described.
func (l *Load) Contract(connections int) contract.Kind {
	return needs{l, connections}.contract()
}
