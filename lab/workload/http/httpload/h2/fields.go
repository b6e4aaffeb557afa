package h2

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"weir/lab/workload/http/httpload/response"
)

// Trailer is the status of a gRPC call, in the block of fields that ended a response: its trailers,
// or its head if that ended it. It is empty if data ended the response.
type Trailer struct {
	GRPCStatus  string // a field that is given twice is joined by a comma
	GRPCMessage string // percent-encoded
}

// fields are the decoded fields of a response, of which only those are kept that frame it, encode
// its body, or are a status of gRPC.
type fields struct {
	head    response.Head
	trailer Trailer
	status  int    // 0: none
	regular bool   // a field that is no pseudo-header field was seen
	wrong   string // what is malformed; empty: nothing
}

func (f *fields) reset() { *f = fields{head: response.Head{Length: -1, Minor: 1}} }

// add takes the next field.
func (f *fields) add(h hpack.HeaderField) {
	switch {
	case f.wrong != "":
	case strings.HasPrefix(h.Name, ":"):
		f.addStatus(h)
	default:
		f.regular = true
		f.addRegular(h)
	}
}

// addStatus takes a pseudo-header field (RFC 9113, section 8.3.2).
func (f *fields) addStatus(h hpack.HeaderField) {
	n, err := strconv.Atoi(h.Value)
	switch {
	case h.Name != ":status":
		f.wrong = "a response has a pseudo-header field other than :status"
	case f.regular || f.status != 0:
		f.wrong = ":status is given twice or not first"
	case err != nil || len(h.Value) != 3 || n < 100:
		f.wrong = ":status is not a number of three digits"
	default:
		f.status, f.head.Status = n, n
	}
}

// addRegular takes a field (RFC 9113, sections 8.2.1 and 8.2.2).
func (f *fields) addRegular(h hpack.HeaderField) {
	if h.Name == "" || strings.ContainsFunc(h.Name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c >= 'A' && c <= 'Z' || c == ':' }) || strings.ContainsAny(h.Value, "\x00\r\n") {
		f.wrong = "a field is malformed, or its name has upper-case letters"
		return
	}
	switch h.Name {
	case "content-length":
		n, err := strconv.ParseUint(h.Value, 10, 62)
		if err != nil || f.head.Length >= 0 {
			f.wrong = "content-length is not a number, or given twice"
			return
		}
		f.head.Length = int64(n)
	case "content-encoding":
		switch value := strings.ToLower(h.Value); {
		case value == "identity":
		case f.head.Coding == response.Identity && (value == "gzip" || value == "x-gzip"):
			f.head.Coding = response.Gzip
		default:
			f.head.Coding = response.OtherCoding
		}
	case "grpc-status":
		if f.trailer.GRPCStatus != "" {
			h.Value = f.trailer.GRPCStatus + "," + h.Value
		}
		f.trailer.GRPCStatus = h.Value
	case "grpc-message":
		f.trailer.GRPCMessage = h.Value
	case "connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade":
		f.wrong = "a response has the field " + h.Name + ", which HTTP/2 does not have"
	}
}
