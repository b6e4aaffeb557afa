package basic

import (
	"cmp"
	"fmt"
	"net/http"

	"weir/web"
)

// StaticConfig sets the response of [Static].
type StaticConfig struct {
	Status int `hcl:"status,optional"` // Status is the status, 200 to 599. 0: 200.
	// Text is the body. Empty, without File: an empty body.
	Text string `hcl:"text,optional"`
	// File is the path of a file with the body, instead of Text. It is read when the component is
	// made.
	File string `hcl:"file,optional"`
	// Type is the Content-Type. Empty: text/plain in UTF-8 for Text; for File the type of its
	// extension or of its first bytes.
	Type string `hcl:"type,optional"`
	// Headers are further fields of the response.
	Headers map[string]string `hcl:"headers,optional"`
}

// Static is a source that sends every client the same response: a status, header fields, a body.
// With status 200 it has a strong entity tag, unless Headers has one, so that ranges and conditions
// work.
func Static(cfg StaticConfig) (web.Component, error) {
	status := cmp.Or(cfg.Status, http.StatusOK)
	if err := checkStatus("static", "status", status); err != nil {
		return nil, err
	}
	if bodyless(status) && (cfg.Text != "" || cfg.File != "") {
		return nil, fmt.Errorf("static: status is %d, which has no body: remove text and file", status)
	}
	data, contentType, err := readContent("static", cfg.Text, cfg.File, cfg.Type)
	if err != nil {
		return nil, err
	}
	fields, err := newFields("static", "headers", cfg.Headers)
	if err != nil {
		return nil, err
	}
	answer := newFixedResponse(status, data, contentType)
	answer.fields = append(answer.fields, fields...)
	return named("static", web.Source(answer.answer)), nil
}
