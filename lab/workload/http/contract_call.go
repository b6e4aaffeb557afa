package http

import (
	"cmp"
	"encoding/binary"
	"net/http"
	"strings"

	"weir/lab/contract"
	"weir/lab/workload/http/httpload"
)

// messagePrefix is the size of the prefix of a gRPC message in bytes: a flag and the length.
const messagePrefix = 5

// newCall returns a unary gRPC call to a server at addr, as gRPC's PROTOCOL-HTTP2 has it.
func newCall(r httpload.Request, scheme, addr string) *http.Request {
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(r.Body)))
	r.Body = string(prefix) + r.Body
	request := newRequest(r, scheme, addr)
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	return request
}

// judgeCall judges the answer to a gRPC call: its type, its status in the trailers or in a head
// without a body, and its message.
func judgeCall(r httpload.Request, a *http.Response, body []byte) {
	contract.Expect(a.StatusCode == http.StatusOK, "expected HTTP status 200, saw %s: the server does not speak gRPC at this path", a.Status)
	kind := a.Header.Get("Content-Type")
	contract.Expect(strings.HasPrefix(kind, "application/grpc"), "expected Content-Type application/grpc, saw %q", kind)
	fields := a.Trailer
	if len(body) == 0 && fields.Get("Grpc-Status") == "" {
		fields = a.Header
	}
	text := fields.Get("Grpc-Status")
	contract.Expect(text != "", "expected grpc-status in the trailers, saw none")
	want, _ := r.Status.GRPC()
	status, ok := httpload.Status(text).GRPC()
	contract.Expect(ok, "expected a grpc-status from 0 to 16, saw %.20q", text)
	contract.Expect(status == want, "expected status %v, saw %v: %.200q", want, status, cmp.Or(fields.Get("Grpc-Message"), "without a reason"))
	if want == 0 {
		judgeMessage(r, body)
	}
}

// judgeMessage judges the body of an answer to a gRPC call: one message, which is as expected.
func judgeMessage(r httpload.Request, body []byte) {
	contract.Expect(len(body) >= messagePrefix, "expected a message with a prefix of %d bytes, saw %d bytes", messagePrefix, len(body))
	contract.Expect(body[0] == 0, "expected a message that is not compressed, saw the flag %d", body[0])
	length, message := binary.BigEndian.Uint32(body[1:]), body[messagePrefix:]
	contract.Expect(int(length) == len(message), "expected one message, saw a length of %d before %d bytes", length, len(message))
	r.Status = "200"
	contract.Must(r.Judge(http.StatusOK, message))
}
