package basic

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"weir/web"
)

// page is what a client reads about a status.
type page struct {
	text   []byte
	varies bool // it has placeholders
	kind   web.Field
}

// newPage makes a page of a text or a file, in which {status} and {reason} stand for the code and
// for what it means.
func newPage(component, text, file, contentType string) (*page, error) {
	data, contentType, err := content(component, text, file, contentType)
	if err != nil {
		return nil, err
	}
	varies := bytes.Contains(data, []byte("{status}")) || bytes.Contains(data, []byte("{reason}"))
	return &page{data, varies, web.NewField("Content-Type", contentType)}, nil
}

// body sets the status and the fields that describe the page, and is its body.
func (p *page) body(c *web.Conn, status int) web.Body {
	c.StatusBody(status) // what described an earlier body is taken back
	if bodyless(status) {
		return web.Body{}
	}
	c.SetField(p.kind)
	if !p.varies {
		return web.Bytes(p.text)
	}
	fill := strings.NewReplacer("{status}", strconv.Itoa(status), "{reason}", http.StatusText(status))
	return web.String(fill.Replace(string(p.text)))
}
