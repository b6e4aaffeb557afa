package admin

import (
	"embed"
	"net/http"
)

//go:embed page
var files embed.FS

// page serves one of the page's files.
func page(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, files, name)
	})
}
