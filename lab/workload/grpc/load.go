package grpc

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/lab/contract"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
	"weir/lab/workload/http/httpload"
)

// Load is the calls offered to a subject. Without a Rate the loop is closed: a stream sends its
// next call when it has the answer to the last.
type Load struct {
	workload.Common
	// arrival pattern of calls with a rate: staggered, together or poisson; empty: staggered
	Arrivals string `toml:"pattern"`
	Method   string `toml:"method"` // "/package.Service/Method"
	// the message in hexadecimal, as protobuf encodes it; empty: an empty message
	Message string `toml:"message"`
	// a file with the message as it is, instead of Message; Check replaces it
	MessageFile string `toml:"message_file"`
	// instead of Message: a message with one string of so many bytes, which is field 1
	Size     int             `toml:"size"`
	Metadata []string        `toml:"metadata"` // "name: value", sent in this order
	Status   httpload.Status `toml:"status"`   // expected: a number or a name; empty: OK
	Streams  int             `toml:"streams"`  // calls at once on each connection; 0: 1

	// Expectations of the message of each answer. Several may be set; none accepts any message.

	Same        bool   `toml:"same"`         // as that of the first answer
	Reply       string `toml:"reply"`        // this, in hexadecimal; empty: not checked
	ReplyLength *int64 `toml:"reply_length"` // in bytes; nil: not checked
	ReplySHA256 string `toml:"reply_sha256"` // in hexadecimal; empty: not checked

	http.Encryption
}

// Limits of a load.
const (
	maxStreams = 1000
	maxSize    = 4 << 20 // bytes of the string; gRPC's servers accept messages of 4 MiB
)

// methodPath matches the path of a method.
var methodPath = regexp.MustCompile(`^(/[A-Za-z0-9_.-]+){2,}$`)

// greeting is a load of the service that the project's own subjects have.
func greeting() *Load {
	return &Load{Common: workload.Common{Name: "greeting"}, Method: "/helloworld.Greeter/SayHello", Message: "0a05776f726c64", Reply: "0a0b48656c6c6f20776f726c64"}
}

// Clone implements workload.Load.
func (l *Load) Clone() workload.Load { c := *l; return &c }

// Pattern implements workload.Load.
func (l *Load) Pattern() string { return l.LoopPattern(l.Arrivals) }

// Check implements workload.Load. It replaces the file of the message by its content.
func (l *Load) Check(in workload.Context) string {
	if bad := cmp.Or(l.CheckLoop("calls", l.Arrivals, in.Connections, httpload.MaxRate), l.Encryption.Check()); bad != "" {
		return bad
	}
	most := float64(slices.Max(in.Connections))
	switch {
	case !methodPath.MatchString(l.Method):
		return fmt.Sprintf("the method %q is invalid: write /PACKAGE.SERVICE/METHOD, such as /helloworld.Greeter/SayHello", l.Method)
	case l.Streams < 0 || l.Streams > maxStreams || most*float64(max(l.Streams, 1)) > httpload.MaxStreams:
		return fmt.Sprintf("streams must be from 1 to %d, and at most %d on all %.0f connections", maxStreams, httpload.MaxStreams, most)
	case l.Size < 0 || l.Size > maxSize:
		return fmt.Sprintf("a size of %d bytes is out of range: give 1 to %d", l.Size, maxSize)
	}
	return l.checkMessage()
}

// checkMessage returns what is wrong with the message and with what is expected of the answer.
func (l *Load) checkMessage() string {
	given := 0
	for _, is := range []bool{l.Message != "", l.MessageFile != "", l.Size > 0} {
		if is {
			given++
		}
	}
	if given > 1 {
		return "message, message_file and size each give the message: leave two of them out"
	}
	if why := l.readMessage(); why != "" {
		return why
	}
	r, err := l.call()
	if err == nil {
		err = httpload.CheckMix([]httpload.Request{r})
	}
	if err != nil {
		return words(err)
	}
	return ""
}

// readMessage replaces the file of the message by its content.
func (l *Load) readMessage() string {
	if l.MessageFile == "" {
		return ""
	}
	r := httpload.Request{BodyFile: l.MessageFile}
	if err := r.ReadFiles("."); err != nil {
		return words(err)
	}
	if len(r.Body) > maxSize {
		return fmt.Sprintf("the message of %s has %d bytes: give at most %d", l.MessageFile, len(r.Body), maxSize)
	}
	l.Message, l.MessageFile = hex.EncodeToString([]byte(r.Body)), ""
	return ""
}

// words returns a usage error of the generator as what is wrong with a load.
func words(err error) string { return strings.TrimPrefix(err.Error(), "load: ") }

// call returns the call as a described request. An error says that a message is not hexadecimal.
func (l *Load) call() (httpload.Request, error) {
	r := httpload.Request{GRPC: true, Path: l.Method, Headers: l.Metadata, BodyHex: l.Message, Status: l.Status,
		Check: httpload.Check{Same: l.Same, Length: l.ReplyLength, SHA256: l.ReplySHA256}}
	if l.Size > 0 {
		r.Body = stringMessage(l.Size)
	}
	if l.Reply != "" {
		r.Check.BodyHex = &l.Reply
	}
	return r, r.ReadFiles("")
}

// requests returns l, which must be valid, as a load of described requests.
func (l *Load) requests() *http.Load {
	r, _ := l.call() //nolint:errcheck // l is valid
	return &http.Load{Common: l.Common, Arrivals: l.Arrivals, Path: l.Method, Mix: []httpload.Request{r}, HTTP2: true, Streams: l.Streams, Encryption: l.Encryption}
}

// stringMessage returns a protobuf message whose field 1 is a string of size bytes.
func stringMessage(size int) string {
	const field1 = 1<<3 | 2 // length-delimited
	message := []byte{field1}
	for n := size; ; n >>= 7 {
		if n < 0x80 {
			message = append(message, byte(n))
			break
		}
		message = append(message, byte(n)|0x80)
	}
	return string(message) + strings.Repeat("x", size)
}

// Recorded implements workload.Load.
func (l *Load) Recorded() result.Load {
	r := l.Common.Recorded()
	r.Requests.Path, r.Requests.Pattern, r.Requests.HTTP2, r.Requests.Streams, r.Requests.TLS = l.Method, l.Arrivals, true, l.Streams, l.TLS
	call, _ := l.call()                                     //nolint:errcheck // the load is valid
	text, _ := httpload.FormatMix([]httpload.Request{call}) //nolint:errcheck // the load is valid
	r.Size = len(call.Body)
	r.Requests.Mix = fmt.Sprintf("status %s, SHA-256 %.8x", cmp.Or(string(l.Status), "OK"), sha256.Sum256(text))
	return r
}

// Meets implements workload.Load: it reports whether a subject can meet the load.
func (l *Load) Meets(s *subject.Subject, elsewhere bool) bool {
	return l.Encryption.Meets(s, elsewhere)
}

// Needs implements workload.Load.
func (l *Load) Needs() string { return l.Encryption.Needs() }

// Contract implements workload.Described: the checks of a server of requests that are calls.
func (l *Load) Contract(connections int) contract.Kind {
	k := l.requests().Contract(connections)
	k.Workloads = []string{Name}
	return k
}
