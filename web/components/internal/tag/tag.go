// Package tag makes entity tags (RFC 9110 section 8.8.3).
//
// # Limitations
//
// Tags are strong; the core weakens them where a filter changes the body.
package tag

import (
	"crypto/sha256"
	"encoding/base64"
)

// Of returns an entity tag that is unique to data: 128 bits of its SHA-256.
func Of(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// Strong reports whether a tag is a strong validator.
func Strong(tag string) bool { return len(tag) > 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }
