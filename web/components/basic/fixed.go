package basic

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/net/http/httpguts"

	"weir/web"
)

// fixed is an answer that is made once and given many times.
type fixed struct {
	status int
	fields []web.Field
	body   web.Body
}

// give sets the head of the answer, and is its body.
func (f *fixed) give(c *web.Conn) web.Body {
	c.SetStatus(f.status)
	for _, field := range f.fields {
		c.SetField(field)
	}
	return f.body
}

// newFixed makes an answer of content. One with status 200 gets a strong entity tag, from a hash of
// the content.
func newFixed(status int, content []byte, contentType string) *fixed {
	f := &fixed{status: status, body: web.Bytes(content)}
	if bodyless(status) {
		return f
	}
	f.fields = append(f.fields, web.NewField("Content-Type", contentType))
	if status == http.StatusOK {
		f.fields = append(f.fields, web.NewField("ETag", strongTag(content)))
	}
	return f
}

// bodyless says whether a response with this status has no body (RFC 9110 section 6.4.1).
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// strongTag is the entity tag of content: 128 bits of its SHA-256.
func strongTag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// content is the text, or what the file has, with its media type: the one given, or the one that
// the file's name or its first bytes tell. Component is whose Config it is, for the error.
func content(component, text, file, contentType string) ([]byte, string, error) {
	switch {
	case !httpguts.ValidHeaderFieldValue(contentType):
		return nil, "", fmt.Errorf("%s: type is %q, which can't stand in a head", component, contentType)
	case file == "":
		if contentType == "" {
			contentType = "text/plain; charset=utf-8"
		}
		return []byte(text), contentType, nil
	case text != "":
		return nil, "", fmt.Errorf("%s: text and file are both set: leave one out", component)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("%s: file: %w", component, err)
	}
	if contentType == "" {
		contentType = mime.TypeByExtension(filepath.Ext(file))
	}
	if contentType == "" {
		contentType = http.DetectContentType(data)
	}
	return data, contentType, nil
}

// fieldsOf are the fields of a Config's map, sorted by name. The error names the map and the field
// that can't be set.
func fieldsOf(component, setting string, m map[string]string) ([]web.Field, error) {
	var fields []web.Field
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := checkField(component, setting, name, m[name]); err != nil {
			return nil, err
		}
		fields = append(fields, web.NewField(name, m[name]))
	}
	return fields, nil
}

// checkField says whether a field may stand in a head. Those that say how a message is cut belong
// to the server.
func checkField(component, setting, name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%s: %s has %q, which is no name of a field", component, setting, name)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("%s: %s has a value for %s that can't stand in a head: %q", component, setting, name, value)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade":
		return fmt.Errorf("%s: %s has %s, which is the server's to set: take it out", component, setting, name)
	case "Host":
		return fmt.Errorf("%s: %s has Host, which is no field but part of the request's target: take it out", component, setting)
	}
	return nil
}

// checkStatus says whether a status may be a final one.
func checkStatus(component, setting string, status int) error {
	if status < 200 || status > 599 {
		return fmt.Errorf("%s: %s is %d: write a final status, 200 to 599", component, setting, status)
	}
	return nil
}
