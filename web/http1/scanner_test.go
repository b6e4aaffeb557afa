package http1

import (
	"fmt"
	"strings"
	"testing"
)

// small limits, so that the tables show them.
var small = Limits{HeadBytes: 200, Fields: 5, ChunkLine: 20}

// verdict is a scanner's result for a whole stream.
type verdict struct {
	passed   int // bytes that may be forwarded
	requests uint64
	reason   *Violation
}

func (v verdict) String() string {
	return fmt.Sprintf("%d bytes pass, %d requests, %v", v.passed, v.requests, v.reason)
}

// scan passes in to a scanner in reads of at most step bytes, the first one of first bytes. Where
// the scanner stops for a change of protocol, scan continues as if there was none.
func scan(l Limits, in string, first, step int) (verdict, *Scanner) {
	s := New(l)
	passed := 0
	for passed < len(in) {
		size := step
		if passed < first {
			size = first - passed
		}
		n, v := s.Scan([]byte(in[passed:min(len(in), passed+size)]))
		passed += n
		if v != nil {
			return verdict{passed, s.Requests(), v}, &s
		}
	}
	return verdict{passed, s.Requests(), nil}, &s
}

// everyWay scans in whole, byte by byte, and cut in two at each position: the verdict must be the
// same.
func everyWay(t *testing.T, l Limits, in string) verdict {
	t.Helper()
	whole, _ := scan(l, in, 0, len(in)+1)
	if single, _ := scan(l, in, 0, 1); single != whole {
		t.Errorf("%q byte by byte: got %v\nwant the verdict of the whole %v", in, single, whole)
	}
	for cut := 1; cut < len(in); cut++ {
		if two, _ := scan(l, in, cut, len(in)); two != whole {
			t.Errorf("%q cut after %d: got %v\nwant the verdict of the whole %v", in, cut, two, whole)
		}
	}
	return whole
}

const hostA = "Host: a\r\n"

func TestValidRequestsAreAccepted(t *testing.T) {
	for _, c := range []struct {
		says, in string
		requests uint64
	}{
		{"a request line and the fields an HTTP/1.1 request needs", "GET / HTTP/1.1\r\n" + hostA + "\r\n", 1},
		{"several requests in one read (9.3.2: \"A client that supports persistent connections MAY 'pipeline' its requests\")",
			"GET /a HTTP/1.1\r\n" + hostA + "\r\nHEAD /b HTTP/1.1\r\n" + hostA + "\r\n", 2},
		{"HTTP/1.0 needs no Host", "GET / HTTP/1.0\r\n\r\n", 1},
		{"a Host may be empty (3.2: \"a client MUST send a Host header field with an empty field value\")", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 1},
		{"names know no case", "GET / HTTP/1.1\r\nhOsT: a\r\n\r\n", 1},
		{"hosts with ports, IPv6", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 1},
		{"white space around a value is not part of it (5)", "PUT / HTTP/1.1\r\nHost:\t a \r\nContent-Length: \t2 \t\r\n\r\nab", 1},
		{"a tab and bytes above 127 within a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\xc3\xa9 12345678\t12345678\r\n\r\n", 1},
		{"an empty value", "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \r\n\r\n", 1},
		{"absolute-form (3.2.2: \"a server MUST accept the absolute-form in requests\")", "GET http://a/b?c HTTP/1.1\r\n" + hostA + "\r\n", 1},
		{"authority-form", "CONNECT a:443 HTTP/1.1\r\n" + hostA + "\r\n", 1},
		{"asterisk-form", "OPTIONS * HTTP/1.1\r\n" + hostA + "\r\n", 1},
		{"a body of a known length, then another request", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nGETGET / HTTP/1.1\r\n" + hostA + "\r\n", 2},
		{"a length of zero", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 1},
		{"chunks, in small and capital digits", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0000A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", 1},
		{"chunk extensions (7.1.1: \"A recipient MUST ignore unrecognized chunk extensions\")",
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b;c\"\r\nabc\r\n0;x\r\n\r\n", 1},
		{"trailers", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\nZ:\r\n\r\nGET / HTTP/1.0\r\n\r\n", 2},
		{"an empty line after a POST (2.2: \"a server … SHOULD ignore at least one empty line\")",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na\r\nGET / HTTP/1.0\r\n\r\n", 2},
		{"an unknown method is a token as well", "M-SEARCH! / HTTP/1.1\r\n" + hostA + "\r\n", 1},
		{"a body may look like anything", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n\x00\n \r\n\r\n0", 1},
		{"an upgrade that did not happen", "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\nGET / HTTP/1.0\r\n\r\n", 2},
	} {
		got := everyWay(t, small, c.in)
		if want := (verdict{len(c.in), c.requests, nil}); got != want {
			t.Errorf("%s: %q: %v\nwant %v", c.says, c.in, got, want)
		}
	}
}

// passes removes the mark '^' from a table's input and returns its position, where the violation
// shows.
func passes(in string) (string, int) {
	at := strings.IndexByte(in, '^')
	return in[:at] + in[at+1:], at
}

func testRefused(t *testing.T, cases []refused) {
	t.Helper()
	for _, c := range cases {
		in, at := passes(c.in)
		got := everyWay(t, small, in)
		if got.passed != at || got.reason != c.want {
			t.Errorf("%s: %q: %v\nwant %d bytes and %v", c.says, in, got, at, c.want)
		}
		if err := engineRefuses(small, in); err != nil {
			t.Errorf("%s: %q, as net/http reads it: %v", c.says, in, err)
		}
	}
}

type refused struct {
	says, in string // '^' marks the offending byte
	want     *Violation
}

func TestInvalidRequestLinesAreRejected(t *testing.T) {
	testRefused(t, []refused{
		{"2.2: no white space before the first line", "^ GET / HTTP/1.1\r\n", errMethod},
		{"2.2: an empty line first", "^\r\nGET / HTTP/1.1\r\n", errEmptyLine},
		{"an LF first", "^\nGET / HTTP/1.1\r\n", errEmptyLine},
		{"only one empty line after a POST", "POST / HTTP/1.0\r\n\r\n\r\n^\r\nGET / HTTP/1.0\r\n\r\n", errEmptyLine},
		{"a CR alone after a POST", "POST / HTTP/1.0\r\n\r\n\r^GET / HTTP/1.0\r\n\r\n", errBareCR},
		{"a method is a token (9110, 9.1)", "G^(T / HTTP/1.1\r\n", errMethod},
		{"a NUL in the method", "GE^\x00T / HTTP/1.1\r\n", errMethod},
		{"TLS on a plain port", "^\x16\x03\x01\x00", errMethod},
		{"3: single spaces between the words", "GET ^ / HTTP/1.1\r\n", errTarget},
		{"3: single spaces, also before the version", "GET / ^ HTTP/1.1\r\n", errRequestLine},
		{"a tab is no separator", "GET^\t/ HTTP/1.1\r\n", errMethod},
		{"a tab before the version", "GET /^\tHTTP/1.1\r\n", errTarget},
		{"3.2: \"No whitespace is allowed in the request-target\"", "GET /a ^b HTTP/1.1\r\n", errRequestLine},
		{"a NUL in the target", "GET /^\x00 HTTP/1.1\r\n", errTarget},
		{"a fragment in the target", "GET /a^#b HTTP/1.1\r\n", errTarget},
		{"a target that is neither a path nor a URL", "GET a^ HTTP/1.1\r\n", errTarget},
		{"another scheme", "GET ftp://a^ HTTP/1.1\r\n", errTarget},
		{"an asterisk with another method", "GET *^ HTTP/1.1\r\n", errTarget},
		{"CONNECT with a path", "CONNECT /a^ HTTP/1.1\r\n", errTarget},
		{"HTTP/0.9", "GET /^\r\n\r\n", errRequestLine},
		{"2.3: HTTP-name is case-sensitive", "GET / ^http/1.1\r\n", errRequestLine},
		{"another major version", "GET / HTTP/^2.0\r\n", errVersion},
		{"the preface of HTTP/2", "PRI *^ HTTP/2.0\r\n\r\nSM\r\n\r\n", errTarget},
		{"another minor version", "GET / HTTP/1.^2\r\n", errVersion},
		{"a version with more digits", "GET / HTTP/1.1^0\r\n", errRequestLine},
		{"a version with one digit", "GET / HTTP/1^\r\n", errRequestLine},
		{"white space behind the version", "GET / HTTP/1.1^ \r\n", errRequestLine},
		{"2.2: a bare LF ends no line here", "GET / HTTP/1.1^\nHost: a\r\n\r\n", errBareLF},
		{"2.2: \"A recipient of such a bare CR MUST consider that element to be invalid\"", "GET / HTTP/1.1\r^\r\nHost: a\r\n\r\n", errBareCR},
		{"3: \"A server that receives a request-target longer than any URI it wishes to parse MUST respond with a 414\"",
			"GET /" + strings.Repeat("a", 195) + "^a HTTP/1.1\r\n", errTargetLong},
	})
}

func TestInvalidFieldsAreRejected(t *testing.T) {
	const line = "GET / HTTP/1.1\r\n"
	testRefused(t, []refused{
		{"2.2: white space between the request line and the first field", line + "^ Host: a\r\n\r\n", errFold},
		{"5.2: \"A server that receives an obs-fold … MUST either reject the message\"", line + hostA + "X: a\r\n^ b\r\n\r\n", errFold},
		{"a fold by a tab", line + hostA + "X: a\r\n^\tb\r\n\r\n", errFold},
		{"5.1: \"A server MUST reject, with a response status code of 400, any received request message that contains whitespace between a header field name and colon\"",
			line + "Host^ : a\r\n\r\n", errName},
		{"a tab before the colon", line + "Host^\t: a\r\n\r\n", errName},
		{"a field without a name", line + "^: a\r\n\r\n", errName},
		{"a line without a colon", line + "Host^\r\n\r\n", errName},
		{"a name that is no token", line + "H^(ost: a\r\n\r\n", errName},
		{"a NUL in a name", line + "H^\x00ost: a\r\n\r\n", errName},
		{"a byte above 127 in a name", line + "H^\xc3\xb6st: a\r\n\r\n", errName},
		{"9110, 5.5: \"Field values containing CR, LF, or NUL characters are invalid and dangerous\"", line + hostA + "X: a^\x00b\r\n\r\n", errValue},
		{"another control character in a value", line + hostA + "X: 12345678a^\x01b\r\n\r\n", errValue},
		{"DEL in a value", line + hostA + "X: 12345678a^\x7fb\r\n\r\n", errValue},
		{"a bare LF behind a value", line + hostA + "X: a^\n\r\n", errBareLF},
		{"a bare LF behind a value that frames", line + "Host: a^\n\r\n", errBareLF},
		{"a bare CR in a value", line + hostA + "X: a\r^b\r\n\r\n", errBareCR},
		{"a bare LF ends no head", line + hostA + "^\n", errBareLF},
		{"a bare CR ends no head", line + hostA + "\r^X", errBareCR},
		{"3.2: \"any request message that contains more than one Host header field line\"", line + hostA + "Host^: a\r\n\r\n", errHosts},
		{"3.2: \"A server MUST respond with a 400 … to any HTTP/1.1 request message that lacks a Host header field\"", line + "X: a\r\n\r^\n", errNoHost},
		{"3.2: \"or a Host header field with an invalid field value\"", line + "Host: a ^b\r\n\r\n", errHost},
		{"a host with a path", line + "Host: a^/b\r\n\r\n", errHost},
		{"a host with a user", line + "Host: u^@b\r\n\r\n", errHost},
		{"a NUL in a host", line + "Host: a^\x00\r\n\r\n", errHost},
		{"too many fields", line + hostA + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n^E: 5\r\n\r\n", errFields},
		{"a head that is too large", line + "X: " + strings.Repeat("a", 181) + "^a\r\n" + hostA + "\r\n", errHeadLarge},
	})
}

func TestInvalidFramingIsRejected(t *testing.T) {
	const line = "POST / HTTP/1.1\r\nHost: a\r\n"
	testRefused(t, []refused{
		{"6.3: both are \"an attempt to perform request smuggling\"", line + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r^\n0\r\n\r\n", errBothLengths},
		{"6.3: both, the other way round", line + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r^\n0\r\n\r\n", errBothLengths},
		{"9110, 8.6: several lengths, different", line + "Content-Length: 5\r\nContent-Length^: 6\r\n\r\nabcde", errLengths},
		{"9110, 8.6: several lengths, the same", line + "Content-Length: 5\r\nContent-Length^: 5\r\n\r\nabcde", errLengths},
		{"9110, 8.6: a list of lengths", line + "Content-Length: 5^,5\r\n\r\nabcde", errLength},
		{"9110, 8.6: Content-Length = 1*DIGIT: a sign", line + "Content-Length: ^+5\r\n\r\nabcde", errLength},
		{"a minus", line + "Content-Length: ^-5\r\n\r\nabcde", errLength},
		{"two words", line + "Content-Length: 5 ^6\r\n\r\nabcde", errLength},
		{"hexadecimal", line + "Content-Length: 0^x5\r\n\r\nabcde", errLength},
		{"nothing", line + "Content-Length: ^\r\n\r\n", errLength},
		{"9110, 8.6: \"a recipient MUST anticipate potentially large decimal numerals and prevent parsing errors due to integer conversion overflows\"",
			line + "Content-Length: 922337203685477580^8\r\n\r\nabcde", errLength},
		{"6.1: an unknown coding", line + "Transfer-Encoding: gzip^\r\n\r\n", errCoding},
		{"6.3: chunked is not final", line + "Transfer-Encoding: chunked, gzip^\r\n\r\n", errCoding},
		{"an unknown coding before chunked", line + "Transfer-Encoding: gzip, chunked^\r\n\r\n", errOtherCoding},
		{"6.1: \"A sender MUST NOT apply the chunked transfer coding more than once\"", line + "Transfer-Encoding: chunked, chunked^\r\n\r\n", errOtherCoding},
		{"twice, as two fields", line + "Transfer-Encoding: chunked\r\nTransfer-Encoding^: chunked\r\n\r\n", errCodings},
		{"a prefix of chunked", line + "Transfer-Encoding: chunk^\r\n\r\n", errCoding},
		{"more than chunked", line + "Transfer-Encoding: chunkedx^\r\n\r\n", errCoding},
		{"chunked in quotes", line + "Transfer-Encoding: \"chunked\"^\r\n\r\n", errCoding},
		{"a vertical tab before chunked", line + "Transfer-Encoding: ^\x0bchunked\r\n\r\n", errCoding},
		{"an empty coding", line + "Transfer-Encoding:^\r\n\r\n", errCoding},
		{"identity, which is gone", line + "Transfer-Encoding: identity^\r\n\r\n", errCoding},
		{"6.1: \"an HTTP/1.0 message containing a Transfer-Encoding … MUST treat the message as if the framing is faulty\"",
			"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r^\n0\r\n\r\n", errCodingIn10},
	})
}

func TestInvalidChunksAreRejected(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	testRefused(t, []refused{
		{"7.1: chunk-size = 1*HEXDIG: a prefix", head + "0^x3\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"a sign", head + "^+3\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"a minus", head + "^-3\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"a space before the size", head + "^ 3\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"a space behind the size", head + "3 ^\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"an underscore", head + "1^_0\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"no size", head + "^\r\nabc\r\n0\r\n\r\n", errChunkSize},
		{"no size but an extension", head + "^;a\r\n0\r\n\r\n", errChunkSize},
		{"a letter beyond f", head + "^g\r\n0\r\n\r\n", errChunkSize},
		{"7.1: \"recipients MUST anticipate potentially large hexadecimal numerals\"", head + "fffffffffffffff^f\r\nabc", errChunkLarge},
		{"more digits than any size needs", head + "000000000000000^3\r\nabc\r\n0\r\n\r\n", errChunkLarge},
		{"a bare LF behind the size", head + "3^\nabc\r\n0\r\n\r\n", errBareLF},
		{"a bare LF in an extension", head + "3;a^\nabc\r\n0\r\n\r\n", errBareLF},
		{"a bare CR in an extension", head + "3;a\r^b\r\nabc\r\n0\r\n\r\n", errBareCR},
		{"a bare CR behind the size", head + "3\r^abc\r\n0\r\n\r\n", errBareCR},
		{"a NUL in an extension", head + "3;a^\x00\r\nabc\r\n0\r\n\r\n", errChunkExt},
		{"a NUL in the extension of the last chunk", head + "0;a^\x00\r\n\r\n", errChunkExt},
		{"a NUL in the extension of a chunk of two", head + "2;a^\x00\r\n\r\n", errChunkExt},
		{"7.1.1: a recipient \"ought to limit the total length of chunk extensions\"", head + "3;34567890123456789^0\r\nabc\r\n0\r\n\r\n", errChunkLine},
		{"no CRLF behind the data", head + "3\r\nabc^0\r\n\r\n", errChunkEnd},
		{"more data than said", head + "3\r\nabc^d\r\n0\r\n\r\n", errChunkEnd},
		{"an LF alone behind the data", head + "3\r\nabc^\n0\r\n\r\n", errChunkEnd},
		{"a CR alone behind the data", head + "3\r\nabc\r^0\r\n\r\n", errChunkEnd},
		{"a bare LF ends no trailers", head + "0\r\n^\n", errBareLF},
		{"a trailer that folds", head + "0\r\nX: a\r\n^ b\r\n\r\n", errFold},
		{"white space before the first trailer", head + "0\r\n^ X: a\r\n\r\n", errFold},
		{"a space before a trailer's colon", head + "0\r\nX^ : a\r\n\r\n", errName},
		{"a NUL in a trailer", head + "0\r\nX: ^\x00\r\n\r\n", errValue},
		{"a bare LF behind a trailer", head + "0\r\nX: a^\n\r\n", errBareLF},
		{"a bare CR in a trailer", head + "0\r\nX: a\r^b\r\n\r\n", errBareCR},
		{"a bare CR ends no trailers", head + "0\r\n\r^G", errBareCR},
		{"9110, 6.5.1: trailers must not frame: a length", head + "0\r\nContent-Length^: 5\r\n\r\n", errTrailerField},
		{"a coding as a trailer", head + "0\r\nTransfer-Encoding^: chunked\r\n\r\n", errTrailerField},
		{"a Host as a trailer", head + "0\r\nHost^: a\r\n\r\n", errTrailerField},
		{"too many trailers", head + "0\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n^F:\r\n\r\n", errFields},
	})
}

func TestScanStopsWhereTheProtocolMayChange(t *testing.T) {
	const then = "\x81\x05hello" // what a WebSocket client may send at once: not HTTP
	for _, head := range []string{
		"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUPGRADE: websocket\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nUpgrade: x\r\n\r\nabc",
	} {
		s := New(Limits{})
		n, v := s.Scan([]byte(head + then))
		if n != len(head) || v != nil || !s.Between() {
			t.Errorf("%q: %d bytes, %v; want to stop behind the request", head, n, v)
		}
		if n, v := s.Scan([]byte(then)); n != 0 || v != errMethod {
			t.Errorf("when it stayed HTTP: %d bytes, %v; want %v", n, v, errMethod)
		}
	}
}

func TestBetweenAndInBodyFollowTheStream(t *testing.T) {
	s := New(Limits{})
	for _, step := range []struct {
		in              string
		between, inBody bool
	}{
		{"", true, false}, {"G", false, false}, {"ET / HTTP/1.1\r\nHost: a\r\n", false, false}, {"\r\n", true, false},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", false, true},
		{"3\r\nab", false, true}, {"c", false, true}, {"\r\n0\r\n", false, true}, {"X:", false, true}, {"\r\n\r\n", true, false},
	} {
		if _, v := s.Scan([]byte(step.in)); v != nil {
			t.Fatalf("%q: got the violation %v, want none", step.in, v)
		}
		if s.Between() != step.between || s.InBody() != step.inBody {
			t.Errorf("behind %q: between %v, in a body %v; want %v, %v", step.in, s.Between(), s.InBody(), step.between, step.inBody)
		}
	}
}
