package httpload

import (
	"cmp"
	"encoding/hex"
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http2/hpack"

	"weir/lab/load"
	"weir/lab/workload/http/httpload/h2"
	"weir/lab/workload/http/httpload/unary"
)

// GRPC returns the status of a call that s stands for: its number or its name. It is OK if s is
// empty.
func (s Status) GRPC() (status unary.Status, ok bool) {
	return unary.ParseStatus(cmp.Or(string(s), "OK"))
}

// wrongCall returns what is wrong with the parts of r that are particular to a gRPC call, or "".
func (r *Request) wrongCall() string {
	switch _, ok := r.Status.GRPC(); {
	case !ok:
		return fmt.Sprintf("the status %.20q is none of a gRPC call: give 0 to 16, or a name such as NOT_FOUND", r.Status)
	case r.Method != "" && r.Method != nethttp.MethodPost:
		return "a gRPC call is a POST: leave its method out"
	}
	for _, field := range r.Headers {
		if name, _, _ := cutHeader(field); slices.Contains([]string{"content-type", "accept"}, strings.ToLower(name)) {
			return fmt.Sprintf("the header field %s is not metadata of a gRPC call: leave it out", name)
		}
	}
	return ""
}

// notOfCalls are the fields of an ordinary request that a call does not have.
var notOfCalls = []string{"accept", "accept-encoding", "content-length"}

// callHTTP2 returns the call r over HTTP/2, as gRPC's PROTOCOL-HTTP2 has it. The message is not
// compressed, and neither is that of the answer to be.
func (r *Request) callHTTP2(c *Config) *h2.Request {
	out := &h2.Request{Body: unary.Encode([]byte(r.Body))}
	for _, f := range r.fieldsHTTP2(c) {
		if !slices.Contains(notOfCalls, f.Name) {
			out.Fields = append(out.Fields, f)
		}
	}
	out.Fields = append(out.Fields, hpack.HeaderField{Name: "te", Value: "trailers"}, hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	return out
}

// judgeCall returns the kind of error of a complete answer to the call p, and its detail; "" if it
// is one whole message and has the expected status.
func (p *prepared) judgeCall(a *unary.Answer, t h2.Trailer) (kind, detail string) {
	status, ok := unary.ParseStatus(t.GRPCStatus)
	switch want, _ := p.Status.GRPC(); {
	case t.GRPCStatus == "":
		return kindGRPC + "no status", "it ends without grpc-status: the server does not speak gRPC at this path, or something between drops trailers"
	case !ok:
		return kindGRPC + "other status", fmt.Sprintf("grpc-status is %.20q and not a number from 0 to 16", t.GRPCStatus)
	case status != want:
		return kindGRPC + status.Name(), fmt.Sprintf("status %v: %s", status, cmp.Or(unary.Detail(t.GRPCMessage), "the server gives no reason"))
	}
	if err := a.End(status == unary.OK); err != nil {
		return kindMessage, err.Error()
	}
	return "", ""
}

// learnCall makes the message of the first answer the expected one.
func (p *prepared) learnCall(e *exchange) error {
	if !p.isExpectedStatus(e.head.Status) {
		return fmt.Errorf("status %d %s: the server does not speak gRPC at this path", e.head.Status, nethttp.StatusText(e.head.Status))
	}
	var a unary.Answer
	message, err := a.Feed(e.text)
	if err != nil {
		return err
	}
	if _, detail := p.judgeCall(&a, e.trailer); detail != "" {
		return fmt.Errorf("%s", detail)
	}
	return p.exact.learn(message, e.head.Coding)
}

// decodeBodies replaces bodies in hexadecimal by their bytes. A body that is given twice is left to
// wrong.
func (r *Request) decodeBodies() error {
	if r.BodyHex != "" && r.Body == "" && r.BodyFile == "" {
		text, err := decodeHex(r.BodyHex)
		if err != nil {
			return err
		}
		r.Body, r.BodyHex = text, ""
	}
	if c := &r.Check; c.BodyHex != nil && c.Body == nil && c.BodyFile == "" {
		text, err := decodeHex(*c.BodyHex)
		if err != nil {
			return err
		}
		c.Body, c.BodyHex = &text, nil
	}
	return nil
}

// decodeHex returns the bytes of text in hexadecimal. An error Is load.ErrUsage.
func decodeHex(text string) (string, error) {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		return "", load.UsageError(fmt.Sprintf("the body %.40q is not hexadecimal: give two digits for each byte, such as 0a05", text))
	}
	return string(bytes), nil
}

// encodeBodies replaces bodies that are not UTF-8 by hexadecimal.
func (r *Request) encodeBodies() {
	if !utf8.ValidString(r.Body) {
		r.Body, r.BodyHex = "", hex.EncodeToString([]byte(r.Body))
	}
	if c := &r.Check; c.Body != nil && !utf8.ValidString(*c.Body) {
		text := hex.EncodeToString([]byte(*c.Body))
		c.Body, c.BodyHex = nil, &text
	}
}
