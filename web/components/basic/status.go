package basic

import "weir/web"

// StatusConfig says what [Status] answers.
type StatusConfig struct {
	Code int `hcl:"code"` // 200 to 599
	// the page, with {status} and {reason} in it for the code and what it means; without Text and
	// File: these two
	Text string `hcl:"text,optional"`
	// a file that has the page, read when the component is made; instead of Text
	File string `hcl:"file,optional"`
	Type string `hcl:"type,optional"` // Content-Type of the page; empty: as for [Static]
}

// Status is a source that answers with a status, and a page that says so. It is the paper's
// HTTPStatusResponse as a component.
func Status(cfg StatusConfig) (web.Component, error) {
	if err := checkStatus("status", "code", cfg.Code); err != nil {
		return nil, err
	}
	if cfg.Text == "" && cfg.File == "" {
		return named("status", web.Source(func(c *web.Conn) web.Body { return c.StatusBody(cfg.Code) })), nil
	}
	page, err := newPage("status", cfg.Text, cfg.File, cfg.Type)
	if err != nil {
		return nil, err
	}
	return named("status", web.Source(func(c *web.Conn) web.Body { return page.body(c, cfg.Code) })), nil
}
