package basic

import (
	"io"
	"net/http"
	"strings"

	"weir/web"
)

// textMediaType returns the media type of the response in lower case, without parameters. It
// returns "" when there is no answer, or the body has a content coding, is a range, or is a
// hijacked connection.
func textMediaType(c *web.Conn) string {
	encoding := c.Header("Content-Encoding")
	if !c.Answered() || c.Body().IsHijack() || c.Status() == http.StatusPartialContent || encoding != "" && encoding != "identity" {
		return ""
	}
	kind := c.Header("Content-Type")
	if data, ok := c.Body().Bytes(); kind == "" && ok {
		kind = http.DetectContentType(data)
		c.SetHeader("Content-Type", kind) // it cannot be detected any more once the body is changed
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
