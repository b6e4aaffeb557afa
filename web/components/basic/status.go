package basic

import "weir/web"

// StatusConfig sets the response of [Status].
type StatusConfig struct {
	Code int `hcl:"code"` // Code is the status, 200 to 599.
	// Text is the body, with {status} and {reason} for the status and its reason phrase. Without
	// Text and File, these two are the body.
	Text string `hcl:"text,optional"`
	// File is the path of a file with the body, instead of Text. It is read when the component is
	// made.
	File string `hcl:"file,optional"`
	// Type is the Content-Type of the body. Empty: as for [Static].
	Type string `hcl:"type,optional"`
}

// Status is a source that answers with a status, and a body that names it. It is the paper's
// HTTPStatusResponse as a component.
func Status(cfg StatusConfig) (web.Component, error) {
	if err := checkStatus("status", "code", cfg.Code); err != nil {
		return nil, err
	}
	if cfg.Text == "" && cfg.File == "" {
		return named("status", web.Source(func(c *web.Conn) web.Body { return c.StatusBody(cfg.Code) })), nil
	}
	page, err := newErrorBody("status", cfg.Text, cfg.File, cfg.Type)
	if err != nil {
		return nil, err
	}
	return named("status", web.Source(func(c *web.Conn) web.Body { return page.body(c, cfg.Code) })), nil
}
