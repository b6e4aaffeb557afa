package basic

import (
	"maps"

	"weir/web"
)

// HeadersConfig sets what [Headers] changes. Field names are in any case.
type HeadersConfig struct {
	// Set replaces fields of the response by these values.
	Set map[string]string `hcl:"set,optional"`
	// Add adds values to fields of the response.
	Add    map[string]string `hcl:"add,optional"`
	Delete []string          `hcl:"delete,optional"` // Delete removes fields from the response.

	// RequestSet replaces fields of the request by these values.
	RequestSet map[string]string `hcl:"request_set,optional"`
	// RequestAdd adds values to fields of the request.
	RequestAdd map[string]string `hcl:"request_add,optional"`
	// RequestDelete removes fields from the request.
	RequestDelete []string `hcl:"request_delete,optional"`

	// Last applies the changes of the response just before its header is sent, after all other
	// components. It holds for failed exchanges too.
	Last bool `hcl:"last,optional"`
}

// Headers is a pipe that changes header fields: it deletes, then sets, then adds. Components behind
// it see the changes of the request. The response is changed at the component's place: before the
// source the fields are defaults, which the source may replace. Behind the source, or with Last
// from anywhere, they have the last word.
func Headers(cfg HeadersConfig) (web.Component, error) {
	response, err := newHeaderChange("", cfg.Set, cfg.Add, cfg.Delete)
	if err != nil {
		return nil, err
	}
	request, err := newHeaderChange("request_", cfg.RequestSet, cfg.RequestAdd, cfg.RequestDelete)
	if err != nil {
		return nil, err
	}
	return named("headers", web.Pipe(func(c *web.Conn) {
		request.changeRequest(c)
		if cfg.Last {
			c.Before(response.changeResponse)
			return
		}
		response.changeResponse(c)
	})), nil
}

// headerChange is what is done to one header: of requests or of responses.
type headerChange struct {
	deleted   []string
	setFields []web.Field       // of set, for a response
	setValues map[string]string // for a request
	addValues map[string]string
}

func newHeaderChange(prefix string, set, add map[string]string, del []string) (*headerChange, error) {
	fields, err := newFields("headers", prefix+"set", set)
	if err != nil {
		return nil, err
	}
	if _, err := newFields("headers", prefix+"add", add); err != nil {
		return nil, err
	}
	for _, name := range del {
		if err := checkField("headers", prefix+"delete", name, ""); err != nil {
			return nil, err
		}
	}
	return &headerChange{deleted: del, setFields: fields, setValues: maps.Clone(set), addValues: maps.Clone(add)}, nil
}

func (h *headerChange) changeResponse(c *web.Conn) {
	for _, name := range h.deleted {
		c.DelHeader(name)
	}
	for _, f := range h.setFields {
		c.SetField(f)
	}
	for name, value := range h.addValues {
		c.AddHeader(name, value)
	}
}

func (h *headerChange) changeRequest(c *web.Conn) {
	for _, name := range h.deleted {
		c.DelRequestHeader(name)
	}
	for name, value := range h.setValues {
		c.SetRequestHeader(name, value)
	}
	for name, value := range h.addValues {
		c.AddRequestHeader(name, value)
	}
}
