package link

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUploadReturnsTheLinkOrTheReason(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer T":
			http.Error(w, "The token was used.", http.StatusUnauthorized)
		case r.URL.Path == "/nowhere":
			w.WriteHeader(http.StatusCreated)
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusInsufficientStorage)
		case string(body) != "plums" || r.Header.Get("Content-Disposition") != `attachment; filename="a b.txt"`:
			http.Error(w, r.Header.Get("Content-Disposition"), http.StatusTeapot)
		default:
			w.Header().Set("Location", "/file/x/a%20b.txt")
			w.WriteHeader(http.StatusCreated)
		}
	}))
	defer s.Close()
	c := s.Client()
	defer c.CloseIdleConnections()
	dir := t.TempDir()
	file := filepath.Join(dir, "a b.txt")
	if err := os.WriteFile(file, []byte("plums"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct{ to, token, file, link, err string }{
		{s.URL + "/upload", "T", file, s.URL + "/file/x/a%20b.txt", ""},
		{s.URL + "/upload", "U", file, "", "The token was used."},
		{s.URL + "/nowhere", "T", file, "", "sent no link"},
		{s.URL + "/broken", "T", file, "", "507"},
		{s.URL + "/upload", "T", dir, "", "is not a regular file"},
		{s.URL + "/upload", "T", file + "x", "", "no such file"},
		{"ftp://x/", "T", file, "", "is invalid"},
		{"upload", "T", file, "", "is invalid"},
	} {
		link, err := Upload(context.Background(), c, v.to, v.token, v.file)
		if link != v.link || (err == nil) != (v.err == "") || err != nil && !strings.Contains(err.Error(), v.err) {
			t.Errorf("uploading %s to %s with token %s: got link %q and error %v, want %q and %q", v.file, v.to, v.token, link, err, v.link, v.err)
		}
	}
}
