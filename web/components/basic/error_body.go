package basic

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"weir/web"
)

// errorBody is the body of a response with an error or another status.
type errorBody struct {
	text            []byte
	hasPlaceholders bool // text has placeholders
	contentType     web.Field
}

// newErrorBody makes a page from a text or a file. {status} and {reason} in it stand for the status
// and its reason phrase.
func newErrorBody(component, text, file, contentType string) (*errorBody, error) {
	data, contentType, err := readContent(component, text, file, contentType)
	if err != nil {
		return nil, err
	}
	varies := bytes.Contains(data, []byte("{status}")) || bytes.Contains(data, []byte("{reason}"))
	return &errorBody{data, varies, web.NewField("Content-Type", contentType)}, nil
}

// body sets the status and the page's header fields, and returns the page.
func (p *errorBody) body(c *web.Conn, status int) web.Body {
	c.StatusBody(status) // also removes the fields that described an earlier body
	if bodyless(status) {
		return web.Body{}
	}
	c.SetField(p.contentType)
	if !p.hasPlaceholders {
		return web.Bytes(p.text)
	}
	fill := strings.NewReplacer("{status}", strconv.Itoa(status), "{reason}", http.StatusText(status))
	return web.String(fill.Replace(string(p.text)))
}
