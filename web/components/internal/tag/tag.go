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

// Of is a tag that other bytes do not have: 128 bits of their SHA-256.
func Of(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// Strong says whether a tag is a strong one.
func Strong(tag string) bool { return len(tag) > 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }
