package http1

// A request that a client sends is appended in three parts: AppendRequestLine, then
// AppendRequestField for each field, then EndRequest.

// AppendRequestLine appends the start of a request: its first line and the field Host (RFC 9112,
// section 3). Method and target are those of a valid request.
func AppendRequestLine(b []byte, method, target, host string) []byte {
	b = append(append(append(b, method...), ' '), target...)
	return append(appendValue(append(b, " HTTP/1.1\r\nHost: "...), host), "\r\n"...)
}

// AppendRequestField appends a line for each value of a field, unless its name is not a token, or
// it is Host or frames the message. In values, control characters become spaces.
func AppendRequestField(b []byte, name string, values ...string) []byte {
	if isRoutingOrFraming(name) {
		return b
	}
	return appendField(b, name, values)
}

// EndRequest appends the length of the content in bytes, -1: no field, and the empty line that ends
// the head.
func EndRequest(b []byte, length int64) []byte {
	if length >= 0 {
		b = appendLength(b, length)
	}
	return append(b, "\r\n"...)
}
