package basic

import (
	"net/http"

	"weir/web"
)

// Text is a source of one text for all clients: text/plain in UTF-8 with a strong entity tag, so
// that a client that has it gets 304. It is the paper's TextStringSource.
func Text(s string) web.Component {
	return named("text", web.Source(newFixedResponse(http.StatusOK, []byte(s), "text/plain; charset=utf-8").answer))
}

// named returns c under its name in a site file.
func named(name string, c web.Component) web.Component {
	return web.WithTraits(c, web.Traits{Name: name})
}
