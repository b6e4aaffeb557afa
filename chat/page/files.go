package page

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
)

// contentPolicy is the page's Content-Security-Policy: only its own host.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// siteFiles serves the page's files. Browsers revalidate them on every load; their entity tags are
// hashes of the content.
func siteFiles() http.Handler {
	root, err := fs.Sub(site, "site")
	if err != nil {
		panic(err) // cannot happen: the files are embedded
	}
	tags := entityTags(root)
	server := http.FileServerFS(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
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

// entityTags returns the entity tags of all files.
func entityTags(root fs.FS) map[string]string {
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
		panic(err) // cannot happen: the files are embedded
	}
	return tags
}
