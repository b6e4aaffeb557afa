package unary

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// names are the names of the statuses by their numbers.
var names = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// Status is the status of a call, 0 to 16.
type Status int

// OK is the status of a call that succeeded.
const OK Status = 0

// ParseStatus parses the number of a status, or its name in capital letters.
func ParseStatus(text string) (s Status, ok bool) {
	if i := slices.Index(names, text); i >= 0 {
		return Status(i), true
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return Status(n), err == nil && int(n) < len(names)
}

// Name returns the name of s, which must be valid.
func (s Status) Name() string { return names[s] }

func (s Status) String() string { return fmt.Sprintf("%d %s", int(s), names[s]) }

// maxDetail is the number of bytes of a message about a status that are shown.
const maxDetail = 200

// Detail decodes the field grpc-message for an error message: its percent-encoding is removed if
// that is valid, a long one is cut, and other characters than printable ones are escaped.
func Detail(message string) string {
	if text, err := url.PathUnescape(message); err == nil {
		message = text
	}
	message = message[:min(len(message), maxDetail)]
	quoted := strconv.Quote(message)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
