package httpload

import (
	"bytes"
	"cmp"
	"fmt"
	nethttp "net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"weir/lab/load"
)

// Limits of described requests.
const (
	MaxMix     = 1000      // requests of a mix
	MaxWeight  = 1_000_000 // of a request
	MaxPath    = 8 << 10   // bytes
	MaxHeaders = 100       // fields of a request
	MaxHeader  = 8 << 10   // bytes of a field
	MaxBody    = 16 << 20  // bytes of a body that is sent or expected
	MaxBodies  = 64 << 20  // bytes of all bodies of a mix
	maxMethod  = 32        // bytes
)

// Request describes a request and the answer that it must have. Only values that Config.Check
// accepts can be sent.
type Request struct {
	// share of all requests, 1 to MaxWeight; 0: 1
	Weight int    `toml:"weight,omitempty"`
	Method string `toml:"method,omitempty"` // empty: GET
	// with its query, starting with a slash; empty: that of the URL
	Path string `toml:"path,omitempty"`
	// fields as "Name: value", sent in this order
	Headers []string `toml:"headers,omitempty"`
	Body    string   `toml:"body,omitempty"`
	// a file with the body; ReadFiles replaces it
	BodyFile string `toml:"body_file,omitempty"`
	// the body in hexadecimal; ReadFiles replaces it
	BodyHex string `toml:"body_hex,omitempty"`
	// a unary gRPC call, only over HTTP/2: Body is its message, the Check is of the message of the
	// answer, and headers are metadata
	GRPC   bool   `toml:"grpc,omitempty"`
	Status Status `toml:"status,omitempty"` // expected; empty: 200, and OK of a call
	Check  Check  `toml:"check,omitempty"`  // of the body of the answer
}

// Status is an expected status, such as 201, or a class of them, such as 2xx.
type Status string

// UnmarshalText makes a number in TOML a Status too.
func (s *Status) UnmarshalText(text []byte) error { *s = Status(text); return nil }

// span returns the lowest and the highest status that s stands for.
func (s Status) span() (low, high int, ok bool) {
	text := cmp.Or(string(s), "200")
	if class, isClass := strings.CutSuffix(text, "xx"); isClass && len(class) == 1 && class[0] >= '2' && class[0] <= '9' {
		low = 100 * int(class[0]-'0')
		return low, low + 99, true
	}
	low, err := strconv.Atoi(text)
	return low, low, err == nil && len(text) == 3 && low >= 200
}

// method returns the method.
func (r *Request) method() string {
	if r.GRPC {
		return nethttp.MethodPost
	}
	return cmp.Or(r.Method, nethttp.MethodGet)
}

// name identifies r in messages.
func (r *Request) name() string { return r.method() + " " + cmp.Or(r.Path, "of the URL") }

// wrong returns what is wrong with r, or "".
func (r *Request) wrong() string {
	_, _, statusOK := r.Status.span()
	if r.GRPC {
		statusOK = true
		if why := r.wrongCall(); why != "" {
			return why
		}
	}
	switch {
	case r.Weight < 0 || r.Weight > MaxWeight:
		return fmt.Sprintf("a weight of %d is out of range: give 1 to %d", r.Weight, MaxWeight)
	case r.Method != "" && (!httpguts.ValidHeaderFieldName(r.Method) || len(r.Method) > maxMethod):
		return fmt.Sprintf("the method %.40q is not a token of at most %d letters: give for example POST", r.Method, maxMethod)
	case r.Method == nethttp.MethodConnect:
		return "the method CONNECT makes a tunnel and not a request: give another method"
	case r.Path != "" && !validPath(r.Path):
		return fmt.Sprintf("the path %.60q is invalid: start it with a slash, write other characters than printable ASCII as %%XX, leave out #, and use at most %d bytes", r.Path, MaxPath)
	case r.BodyFile != "" || r.BodyHex != "":
		return fmt.Sprintf("its body is given twice, or %q was not read: give one body, as text, in hexadecimal or as a file", cmp.Or(r.BodyFile, "body_hex"))
	case len(r.Body) > MaxBody:
		return fmt.Sprintf("its body has %d bytes: give at most %d", len(r.Body), MaxBody)
	case !statusOK:
		return fmt.Sprintf("the status %.20q is none that ends an exchange: give 200 to 999, or a class such as 2xx", r.Status)
	}
	return cmp.Or(wrongHeaders(r.Headers), r.Check.wrong())
}

// validPath reports whether path is a path with a query that can stand in a request line.
func validPath(path string) bool {
	_, err := url.ParseRequestURI(path)
	return err == nil && path[0] == '/' && len(path) <= MaxPath && !strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c > '~' || c == '#' })
}

// ownHeaders are the fields that the generator sets, because they frame a message, manage the
// connection, or decide whether a body is encoded.
var ownHeaders = map[string]string{
	"connection": "leave it out, or give --no-keep-alive", "keep-alive": "leave it out", "proxy-connection": "leave it out", "upgrade": "use weir load ws for WebSocket",
	"content-length": "it is added to a body", "transfer-encoding": "a body is sent with its length", "te": "leave it out", "trailer": "leave it out",
	"expect": "leave it out", "http2-settings": "leave it out", "accept-encoding": "give --accept-encoding",
}

// wrongHeaders returns what is wrong with fields, or "". Values may be secret: they are not part of
// it.
func wrongHeaders(fields []string) string {
	if len(fields) > MaxHeaders {
		return fmt.Sprintf("it has %d header fields: give at most %d", len(fields), MaxHeaders)
	}
	hosts := 0
	for i, field := range fields {
		name, value, ok := cutHeader(field)
		lower := strings.ToLower(name)
		if lower == "host" {
			hosts++
		}
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name):
			return fmt.Sprintf("header field %d has no valid name: write 'Name: value'", i+1)
		case !httpguts.ValidHeaderFieldValue(value) || len(field) > MaxHeader:
			return fmt.Sprintf("the value of the header field %.60s is invalid: use no control characters and at most %d bytes", name, MaxHeader)
		case ownHeaders[lower] != "":
			return fmt.Sprintf("the header field %s is the generator's: %s", name, ownHeaders[lower])
		case lower == "host" && (hosts > 1 || !httpguts.ValidHostHeader(value) || value == ""):
			return "the header field Host is invalid or given twice: write 'Host: NAME[:PORT]' once"
		}
	}
	return ""
}

// cutHeader splits "Name: value".
func cutHeader(field string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(field, ":")
	return name, strings.Trim(value, " \t"), ok
}

// CheckMix returns an error that Is load.ErrUsage if a request of mix is invalid.
func CheckMix(mix []Request) error {
	if why := wrongMix(mix); why != "" {
		return load.UsageError(why)
	}
	return nil
}

// wrongMix returns what is wrong with mix, or "".
func wrongMix(mix []Request) string {
	if len(mix) > MaxMix {
		return fmt.Sprintf("%d described requests are too many: give at most %d", len(mix), MaxMix)
	}
	total := 0
	for i := range mix {
		if why := mix[i].wrong(); why != "" {
			return fmt.Sprintf("request %d (%.80s): %s", i+1, mix[i].name(), why)
		}
		if total += len(mix[i].Body) + len(mix[i].Check.body()); total > MaxBodies {
			return fmt.Sprintf("the bodies of the described requests have more than %d bytes: give fewer or smaller ones", MaxBodies)
		}
	}
	return ""
}

// ReadFiles replaces the names of files in r by their content, and bodies in hexadecimal by their
// bytes. Names are relative to dir.
func (r *Request) ReadFiles(dir string) error {
	if err := r.decodeBodies(); err != nil {
		return err
	}
	if r.BodyFile != "" && r.Body == "" {
		text, err := readBody(dir, r.BodyFile)
		if err != nil {
			return err
		}
		r.Body, r.BodyFile = text, ""
	}
	if c := &r.Check; c.BodyFile != "" && c.Body == nil {
		text, err := readBody(dir, c.BodyFile)
		if err != nil {
			return err
		}
		c.Body, c.BodyFile = &text, ""
	}
	return nil
}

// readBody returns the content of a file, at most a byte more than is allowed.
func readBody(dir, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	text, err := readLimited(name, MaxBody)
	if err != nil {
		return "", load.UsageError(fmt.Sprintf("cannot read the body of a request: %v", err))
	}
	return string(text), nil
}

// readLimited returns the content of a file of at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, and at most %d are allowed", name, info.Size(), limit)
	}
	return os.ReadFile(name)
}

// encode returns the bytes of r over HTTP/1.1.
func (r *Request) encode(c *Config) []byte {
	var b bytes.Buffer
	for i, f := range r.fields(c) {
		if i == 0 {
			fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method(), r.target(c))
		}
		b.WriteString(f.name + ": " + f.value + "\r\n")
	}
	b.WriteString("\r\n" + r.Body)
	return b.Bytes()
}

// target returns the path and query of r.
func (r *Request) target(c *Config) string {
	if r.Path != "" {
		return r.Path
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return "/"
	}
	return u.RequestURI()
}

// field is a header field.
type field struct{ name, value string }

// fields returns the header fields of r, of which Host is the first.
func (r *Request) fields(c *Config) []field {
	host := ""
	if u, err := url.Parse(c.URL); err == nil {
		host = u.Host
	}
	fields := []field{{"Host", host}, {"User-Agent", "weir-load"}, {"Accept", "*/*"}}
	if c.Gzip {
		fields = append(fields, field{"Accept-Encoding", "gzip"})
	}
	if c.Close {
		fields = append(fields, field{"Connection", "close"})
	}
	for _, given := range r.Headers {
		name, value, _ := cutHeader(given)
		i := slices.IndexFunc(fields[:3], func(f field) bool { return strings.EqualFold(f.name, name) })
		if i >= 0 {
			fields[i].value = value
		} else {
			fields = append(fields, field{name, value})
		}
	}
	if r.Body != "" || slices.Contains([]string{nethttp.MethodPost, nethttp.MethodPut, nethttp.MethodPatch}, r.Method) {
		fields = append(fields, field{"Content-Length", strconv.Itoa(len(r.Body))})
	}
	return fields
}
