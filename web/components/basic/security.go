package basic

import (
	"fmt"
	"time"

	"golang.org/x/net/http/httpguts"

	"weir/web"
	"weir/web/components/internal/unit"
)

// SecurityConfig says which of the fields of [Security] differ from what they usually are. "off"
// leaves a field out.
type SecurityConfig struct {
	// who may show pages in a frame, as in Content-Security-Policy; empty: 'self'
	FrameAncestors string `hcl:"frame_ancestors,optional"`
	// Referrer-Policy; empty: strict-origin-when-cross-origin
	Referrer string `hcl:"referrer,optional"`
	// how long browsers are to come by TLS only; empty: "8760h", a year. Sent over TLS only
	HSTS string `hcl:"hsts,optional"`
	// that holds for the host's subdomains too
	Subdomains bool `hcl:"subdomains,optional"`
}

// Security is a pipe that sets the fields which tell a browser to be careful: no guessing of types
// (X-Content-Type-Options), no frames on foreign pages, no full addresses in foreign logs, and over
// TLS, to come back by TLS (RFC 6797: a browser must not believe that without TLS). Before the
// source, these are defaults: a source with a Content-Security-Policy of its own replaces the one
// here.
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
			return nil, fmt.Errorf("security: %s is %q, which can't stand in a head", f.setting, f.value)
		}
		fields = append(fields, web.NewField(f.name, f.prefix+f.value))
	}
	strict, err := strictTransport(cfg)
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

// strictTransport is the field Strict-Transport-Security, nil when it is off.
func strictTransport(cfg SecurityConfig) (*web.Field, error) {
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
