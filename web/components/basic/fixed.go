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

// fixedResponse is a response that is made once and sent many times.
type fixedResponse struct {
	status int
	fields []web.Field
	body   web.Body
}

// answer sets status and header fields, and returns the body.
func (f *fixedResponse) answer(c *web.Conn) web.Body {
	c.SetStatus(f.status)
	for _, field := range f.fields {
		c.SetField(field)
	}
	return f.body
}

// newFixed makes a response from content. With status 200 it has a strong entity tag, a hash of the
// content.
func newFixedResponse(status int, content []byte, contentType string) *fixedResponse {
	f := &fixedResponse{status: status, body: web.Bytes(content)}
	if bodyless(status) {
		return f
	}
	f.fields = append(f.fields, web.NewField("Content-Type", contentType))
	if status == http.StatusOK {
		f.fields = append(f.fields, web.NewField("ETag", strongETag(content)))
	}
	return f
}

// bodyless reports whether a response with this status has no body (RFC 9110, section 6.4.1).
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// strongETag returns the entity tag of content: 128 bits of its SHA-256.
func strongETag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// readContent returns the text, or the content of the file, with its media type. Without a
// contentType, the type is that of the file's extension or of its first bytes. Errors name the
// component.
func readContent(component, text, file, contentType string) ([]byte, string, error) {
	switch {
	case !httpguts.ValidHeaderFieldValue(contentType):
		return nil, "", fmt.Errorf("%s: type is %q, which is not valid in a header", component, contentType)
	case file == "":
		if contentType == "" {
			contentType = "text/plain; charset=utf-8"
		}
		return []byte(text), contentType, nil
	case text != "":
		return nil, "", fmt.Errorf("%s: text and file are both set: remove one", component)
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

// newFields returns the header fields of a Config's map, sorted by name. Errors name the component,
// the setting and the field that cannot be set.
func newFields(component, setting string, m map[string]string) ([]web.Field, error) {
	var fields []web.Field
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := checkField(component, setting, name, m[name]); err != nil {
			return nil, err
		}
		fields = append(fields, web.NewField(name, m[name]))
	}
	return fields, nil
}

// checkField returns an error for a field that must not be set in a header. Fields that frame a
// message belong to the server.
func checkField(component, setting, name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%s: %s has %q, which is not a valid field name", component, setting, name)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("%s: %s has an invalid value for %s: %q", component, setting, name, value)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade":
		return fmt.Errorf("%s: %s has %s, which only the server sets: remove it", component, setting, name)
	case "Host":
		return fmt.Errorf("%s: %s has Host, which is part of the request's target: remove it", component, setting)
	}
	return nil
}

// checkStatus returns an error for a status that is not a final one.
func checkStatus(component, setting string, status int) error {
	if status < 200 || status > 599 {
		return fmt.Errorf("%s: %s is %d: write a final status, 200 to 599", component, setting, status)
	}
	return nil
}
