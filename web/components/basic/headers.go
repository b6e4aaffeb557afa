package basic

import (
	"maps"

	"weir/web"
)

// HeadersConfig says what [Headers] does to the two heads. Names are in any case.
type HeadersConfig struct {
	// fields of the response, in place of those of that name
	Set map[string]string `hcl:"set,optional"`
	// fields of the response, beside those of that name
	Add    map[string]string `hcl:"add,optional"`
	Delete []string          `hcl:"delete,optional"` // names of fields taken out of the response

	RequestSet    map[string]string `hcl:"request_set,optional"`    // the same of the request
	RequestAdd    map[string]string `hcl:"request_add,optional"`    // the same of the request
	RequestDelete []string          `hcl:"request_delete,optional"` // the same of the request

	// Last has the response's fields changed before the head is sent, whatever components behind
	// do, for lost exchanges too.
	Last bool `hcl:"last,optional"`
}

// Headers is a pipe that changes the heads: first it deletes, then it sets, then it adds. Changes
// of the request are seen by the components behind it. Changes of the response are made where it
// stands: before the source they are defaults, which the source may replace; behind the source they
// have the last word; with Last they have it from anywhere.
func Headers(cfg HeadersConfig) (web.Component, error) {
	response, err := newHeadChange("", cfg.Set, cfg.Add, cfg.Delete)
	if err != nil {
		return nil, err
	}
	request, err := newHeadChange("request_", cfg.RequestSet, cfg.RequestAdd, cfg.RequestDelete)
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

// headChange is what is done to one head.
type headChange struct {
	del    []string
	fields []web.Field       // to set in the response
	set    map[string]string // the same, to set in a request
	add    map[string]string
}

func newHeadChange(prefix string, set, add map[string]string, del []string) (*headChange, error) {
	fields, err := fieldsOf("headers", prefix+"set", set)
	if err != nil {
		return nil, err
	}
	if _, err := fieldsOf("headers", prefix+"add", add); err != nil {
		return nil, err
	}
	for _, name := range del {
		if err := checkField("headers", prefix+"delete", name, ""); err != nil {
			return nil, err
		}
	}
	return &headChange{del: del, fields: fields, set: maps.Clone(set), add: maps.Clone(add)}, nil
}

func (h *headChange) changeResponse(c *web.Conn) {
	for _, name := range h.del {
		c.DelHeader(name)
	}
	for _, f := range h.fields {
		c.SetField(f)
	}
	for name, value := range h.add {
		c.AddHeader(name, value)
	}
}

func (h *headChange) changeRequest(c *web.Conn) {
	for _, name := range h.del {
		c.DelRequestHeader(name)
	}
	for name, value := range h.set {
		c.SetRequestHeader(name, value)
	}
	for name, value := range h.add {
		c.AddRequestHeader(name, value)
	}
}
