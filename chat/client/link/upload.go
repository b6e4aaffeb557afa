package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// maxAnswer is the number of bytes that are read of a response.
const maxAnswer = 4096

// Upload sends a file to a server's upload URL with a token and returns the file's link. Its errors
// are for display to users.
func Upload(ctx context.Context, c *http.Client, to, token, file string) (string, error) {
	where, err := url.Parse(to)
	if err != nil || where.Host == "" || where.Scheme != "http" && where.Scheme != "https" {
		return "", fmt.Errorf("the server's upload URL %q is invalid", to)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, where.String(), f)
	if err != nil {
		return "", err
	}
	r.ContentLength = info.Size()
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(file)}))
	return upload(c, r)
}

// upload sends a request and returns the link in the response.
func upload(c *http.Client, r *http.Request) (string, error) {
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode != http.StatusCreated {
		words, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		if words == "" {
			words = "the server answered " + answer.Status
		}
		return "", errors.New(words)
	}
	where, err := answer.Location()
	if err != nil {
		return "", errors.New("the server stored the file, but sent no link to it")
	}
	return where.String(), nil
}
