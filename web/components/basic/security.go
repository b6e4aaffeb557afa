package basic

import (
	"fmt"
	"time"

	"golang.org/x/net/http/httpguts"

	"weir/web"
	"weir/web/components/internal/unit"
)

// SecurityConfig changes the default values of the fields of [Security]. "off" omits a field.
type SecurityConfig struct {
	// FrameAncestors lists the origins that may embed pages in a frame, as in
	// Content-Security-Policy. Empty: "'self'".
	FrameAncestors string `hcl:"frame_ancestors,optional"`
	// Referrer is the value of Referrer-Policy. Empty: "strict-origin-when-cross-origin".
	Referrer string `hcl:"referrer,optional"`
	// HSTS is how long browsers must use TLS only. It is sent over TLS only. Empty: "8760h" (a
	// year).
	HSTS string `hcl:"hsts,optional"`
	// Subdomains extends HSTS to the host's subdomains.
	Subdomains bool `hcl:"subdomains,optional"`
}

// Security is a pipe that sets the fields that restrict browsers: no content sniffing
// (X-Content-Type-Options), no frames on other origins' pages, no full addresses in Referer to
// other origins. Over TLS it also sets Strict-Transport-Security, which browsers ignore without TLS
// (RFC 6797).
//
// Before the source, the fields are defaults: a source with a Content-Security-Policy of its own
// replaces the one set here.
func Security(cfg SecurityConfig) (web.Component, error) {
	fields := []web.Field{web.NewField("X-Content-Type-Options", "nosniff")}
	for _, f := range []struct{ setting, value, otherwise, name, prefix string }{
		{"frame_ancestors", cfg.FrameAncestors, "'self'", "Content-Security-Policy", "frame-ancestors "},
		{"referrer", cfg.Referrer, "strict-origin-when-cross-origin", "Referrer-Policy", ""},
	} {
		switch {
		case f.value == "off":
			continue
		case f.value == "":
			f.value = f.otherwise
		case !httpguts.ValidHeaderFieldValue(f.value):
			return nil, fmt.Errorf("security: %s is %q, which is not valid in a header", f.setting, f.value)
		}
		fields = append(fields, web.NewField(f.name, f.prefix+f.value))
	}
	strict, err := strictTransportField(cfg)
	if err != nil {
		return nil, err
	}
	return named("security", web.Pipe(func(c *web.Conn) {
		for _, f := range fields {
			c.SetField(f)
		}
		if strict != nil && c.Secure() {
			c.SetField(*strict)
		}
	})), nil
}

// strictTransportField returns the field Strict-Transport-Security, or nil when it is off.
func strictTransportField(cfg SecurityConfig) (*web.Field, error) {
	if cfg.HSTS == "off" {
		return nil, nil
	}
	age, err := unit.Duration("security: hsts", cfg.HSTS, 365*24*time.Hour)
	if err != nil {
		return nil, err
	}
	value := fmt.Sprintf("max-age=%d", int64(age.Seconds()))
	if cfg.Subdomains {
		value += "; includeSubDomains"
	}
	f := web.NewField("Strict-Transport-Security", value)
	return &f, nil
}
