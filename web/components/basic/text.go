package basic

import (
	"net/http"

	"weir/web"
)

// Text is a source of a text, the same for everybody: text/plain in UTF-8, with a strong entity
// tag, so that a client that has it is answered by 304. It is the paper's TextStringSource.
func Text(s string) web.Component {
	return named("text", web.Source(newFixed(http.StatusOK, []byte(s), "text/plain; charset=utf-8").give))
}

// named is c under the name that a site file has for it.
func named(name string, c web.Component) web.Component {
	return web.WithTraits(c, web.Traits{Name: name})
}
