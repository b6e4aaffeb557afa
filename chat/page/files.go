package page

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
)

// policy is what a browser may do for the page: nothing but with its own host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// files serves the page's files. A browser asks each time whether they have changed, and is told by
// their hashes.
func files() http.Handler {
	root, err := fs.Sub(site, "site")
	if err != nil {
		panic(err) // it is embedded
	}
	tags := tagsOf(root)
	server := http.FileServerFS(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		h.Set("Cache-Control", "no-cache")
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		if tag := tags[name]; tag != "" {
			h.Set("ETag", tag)
		}
		server.ServeHTTP(w, r)
	})
}

// tagsOf are the entity tags of files.
func tagsOf(root fs.FS) map[string]string {
	tags := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		sum := sha256.Sum256(text)
		tags[name] = `"` + hex.EncodeToString(sum[:12]) + `"`
		return err
	})
	if err != nil {
		panic(err) // it is embedded
	}
	return tags
}
