package httpload

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"regexp"
)

// Limits of checks.
const (
	// bytes of a decoded body in which a regular expression or a JSON field is looked for; a larger
	// body fails the check
	MaxSearched = 1 << 20
	MaxPattern  = 4 << 10 // bytes of a regular expression, and of a JSON field with its value
	MaxFields   = 100     // JSON fields of a request
)

// Check says what the body of an answer must be, after its content coding is removed. All checks
// that are set must hold; its zero value accepts any body. Body, BodyFile and Same determine the
// whole body, so they exclude the others.
type Check struct {
	// as that of the first answer, which is requested before the load
	Same bool    `toml:"same,omitempty"`
	Body *string `toml:"body,omitempty"` // exactly this; nil: not checked
	// a file with the body; ReadFiles replaces it
	BodyFile string `toml:"body_file,omitempty"`
	// the body in hexadecimal; nil: not checked. ReadFiles replaces it
	BodyHex *string `toml:"body_hex,omitempty"`
	Length  *int64  `toml:"length,omitempty"` // in bytes; nil: not checked
	SHA256  string  `toml:"sha256,omitempty"` // in hexadecimal
	Match   string  `toml:"match,omitempty"`  // a regular expression (RE2) that is found in it
	// fields as "path=value": names and array indices are separated by dots, and a backslash makes
	// a dot, an equals sign or a backslash part of a name. The value is JSON; what is not JSON is a
	// string.
	JSON []string `toml:"json,omitempty"`
}

// body returns the exact body; "" if there is none.
func (c *Check) body() string {
	if c.Body == nil {
		return ""
	}
	return *c.Body
}

// partial reports whether a check is set that does not determine the body.
func (c *Check) partial() bool {
	return c.Length != nil || c.SHA256 != "" || c.Match != "" || len(c.JSON) > 0
}

// wrong returns what is wrong with c, or "".
func (c *Check) wrong() string {
	switch {
	case c.BodyFile != "" || c.BodyHex != nil:
		return fmt.Sprintf("its expected body is given twice, or %q was not read: give one body, as text, in hexadecimal or as a file", cmp.Or(c.BodyFile, "body_hex"))
	case len(c.body()) > MaxBody:
		return fmt.Sprintf("its expected body has %d bytes: give at most %d", len(c.body()), MaxBody)
	case c.Same && c.Body != nil:
		return "its expected body is given and also that of the first answer: give one of them"
	case (c.Same || c.Body != nil) && c.partial():
		return "an expected body leaves nothing else to check: give the body or the other checks"
	case c.Length != nil && *c.Length < 0:
		return fmt.Sprintf("a length of %d is out of range: give 0 or more bytes", *c.Length)
	case len(c.Match) > MaxPattern:
		return fmt.Sprintf("its regular expression has %d bytes: give at most %d", len(c.Match), MaxPattern)
	case len(c.JSON) > MaxFields:
		return fmt.Sprintf("it checks %d JSON fields: give at most %d", len(c.JSON), MaxFields)
	}
	if sum, err := hex.DecodeString(c.SHA256); err != nil || len(sum) != 0 && len(sum) != 32 {
		return fmt.Sprintf("the SHA-256 %.80q is invalid: give 64 hexadecimal digits", c.SHA256)
	}
	if _, err := regexp.Compile(c.Match); err != nil {
		return fmt.Sprintf("its regular expression is invalid: %v: write RE2", err)
	}
	for _, text := range c.JSON {
		if _, err := parseJSONField(text); err != nil {
			return err.Error()
		}
	}
	return ""
}
