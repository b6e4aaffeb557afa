package main

import (
	"net/http"
	"strconv"
)

// handler serves the page by net/http.
type handler struct{ page *page }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.page.at(r.URL.Path) {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	body, err := h.page.read()
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", pageType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}
