package files_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"weir/web"
	"weir/web/components/files"
)

func Example() {
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<p>Hello.\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	source, err := files.New(files.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer source.(io.Closer).Close()
	h, err := web.New(source, web.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()

	resp, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(resp.Header.Get("Content-Type"), "\n", string(body))
	// Output:
	// text/html; charset=utf-8
	// <p>Hello.
}
