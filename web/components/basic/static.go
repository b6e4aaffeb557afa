package basic

import (
	"cmp"
	"fmt"
	"net/http"

	"weir/web"
)

// StaticConfig says what [Static] answers.
type StaticConfig struct {
	Status int `hcl:"status,optional"` // 200 to 599; 0: 200
	// the body; empty, without a File: an empty body
	Text string `hcl:"text,optional"`
	// a file that has the body, read when the component is made; instead of Text
	File string `hcl:"file,optional"`
	// Content-Type; empty: text/plain in UTF-8 for Text; what its name or first bytes tell for File
	Type    string            `hcl:"type,optional"`
	Headers map[string]string `hcl:"headers,optional"` // further fields of the head
}

// Static is a source of an answer that is the same for everybody: a status, fields, a body. One
// with status 200 has a strong entity tag, unless the fields have one, so that ranges and
// conditions work.
func Static(cfg StaticConfig) (web.Component, error) {
	status := cmp.Or(cfg.Status, http.StatusOK)
	if err := checkStatus("static", "status", status); err != nil {
		return nil, err
	}
	if bodyless(status) && (cfg.Text != "" || cfg.File != "") {
		return nil, fmt.Errorf("static: status is %d, which has no body: take text and file out", status)
	}
	data, contentType, err := content("static", cfg.Text, cfg.File, cfg.Type)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf("static", "headers", cfg.Headers)
	if err != nil {
		return nil, err
	}
	answer := newFixed(status, data, contentType)
	answer.fields = append(answer.fields, fields...)
	return named("static", web.Source(answer.give)), nil
}
