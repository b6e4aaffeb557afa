package compress

import (
	"net/textproto"
	"strings"
)

// compressible are the types that compress well. Types that are compressed already (most images,
// video, archives, woff) are not among them.
var compressible = []string{
	"text/*", "application/json", "application/javascript", "application/xml", "image/svg+xml", "application/wasm", "*+json", "*+xml", "*+text",
	"application/manifest+json", "application/x-ndjson", "application/x-javascript", "application/graphql", "application/yaml", "application/toml",
	"application/vnd.ms-fontobject", "application/x-font-ttf", "font/ttf", "font/otf", "font/collection", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon",
	"application/rtf", "application/x-tar", "application/postscript",
}

// isPattern reports whether s can match a media type.
func isPattern(s string) bool {
	if suffix, ok := strings.CutPrefix(s, "*+"); ok {
		return suffix != ""
	}
	kind, sub, ok := strings.Cut(s, "/")
	return ok && kind != "" && sub != "" && !strings.ContainsAny(s, " ;,") && (kind != "*" || sub == "*")
}

// matchesAny reports whether a content type matches one of the patterns.
func matchesAny(patterns []string, contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	if kind = textproto.TrimString(kind); kind == "" {
		return false
	}
	for _, p := range patterns {
		switch {
		case p == "*/*", strings.EqualFold(p, kind):
			return true
		case strings.HasSuffix(p, "/*"):
			if n := len(p) - 1; len(kind) >= n && strings.EqualFold(p[:n], kind[:n]) {
				return true
			}
		case strings.HasPrefix(p, "*+"):
			if n := len(kind) - (len(p) - 1); n > 0 && strings.EqualFold(p[1:], kind[n:]) {
				return true
			}
		}
	}
	return false
}
