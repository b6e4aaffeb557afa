package page

import (
	"net/http"
	"strings"
	"testing"
)

func TestErrorPageNeedsNothingElse(t *testing.T) {
	for status := 400; status < 600; status++ {
		if http.StatusText(status) == "" {
			continue
		}
		text := string(Error(status))
		for _, want := range []string{
			`<html lang="en">`, `name="viewport"`, "prefers-color-scheme: dark", `<a href="/">`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: got no %q in\n%s", status, want, text)
			}
		}
		for _, unwanted := range []string{"<script", "<link", "<img", "http:", "https:", "url(", "@import", "ZgotmplZ"} {
			if strings.Contains(text, unwanted) {
				t.Errorf("%d: got %q, want a page without scripts and without other files", status, unwanted)
			}
		}
	}
}

func TestErrorPageNamesItsStatus(t *testing.T) {
	text := string(Error(http.StatusNotFound))
	for _, want := range []string{"<title>404 Not Found</title>", "<h1><span>404 </span>Not Found</h1>", "There is no page at this address"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
}
