package basic

import (
	"io"
	"net/http"
	"strings"

	"weir/web"
)

// plainMedia is the media type of an answer whose body is text as it was written, in lower case and
// without parameters; "" when there is no answer, or its body is encoded, a part, or a connection
// that was taken over.
func plainMedia(c *web.Conn) string {
	encoding := c.Header("Content-Encoding")
	if !c.Answered() || c.Body().IsHijack() || c.Status() == http.StatusPartialContent || encoding != "" && encoding != "identity" {
		return ""
	}
	kind := c.Header("Content-Type")
	if data, ok := c.Body().Bytes(); kind == "" && ok {
		kind = http.DetectContentType(data)
		c.SetHeader("Content-Type", kind) // nobody can tell any more when it is changed
	}
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// writeAll writes those parts that are not empty.
func writeAll(w io.Writer, parts ...[]byte) error {
	for _, p := range parts {
		if len(p) > 0 {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
	}
	return nil
}
