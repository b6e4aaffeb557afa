package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/certificate/certtest"
)

// getTLS requests / over TLS by a client that trusts the authority of a file.
func (s *served) getTLS(t *testing.T, authority, name string) (string, error) {
	t.Helper()
	text, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name}}}
	resp, err := client.Get(s.url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestASelfSignedSiteSaysHowToTrustIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "site.hcl")
	write(t, file, "server {\n listen = \"127.0.0.1:0\"\n tls {\n  self_signed = true\n  names = [\"app.test\"]\n }\n}\nfiles { dir = \".\" }")
	if out, err := exec.Command(binary(t), "serve", "check", file).CombinedOutput(); err != nil {
		t.Errorf("serve check: got %v and %s, want a valid site", err, out)
	}
	authority := filepath.Join(dir, "certificates", "weir-local.pem")
	if _, err := os.Stat(authority); err == nil {
		t.Errorf("after serve check: got %s, want none: checking creates nothing", authority)
	}
	for range 2 { // the second one finds the authority of the first
		s := &served{Cmd: exec.Command(binary(t), "serve", file)}
		if said := s.start(t, "self-signed certificate for"); !strings.HasPrefix(said, "localhost, 127.0.0.1, ::1, app.test: ") || !strings.Contains(said, authority) {
			t.Errorf("got %q, want the names, and the file to import, %s", said, authority)
		}
		s.url = s.address(t, "serving on")
		for _, name := range []string{"localhost", "127.0.0.1", "app.test"} {
			if _, err := s.getTLS(t, authority, name); err != nil {
				t.Errorf("https://%s: got %v, want a client with the authority to trust it", name, err)
			}
		}
		if _, err := s.getTLS(t, authority, "example.org"); err == nil {
			t.Error("https://example.org: got a certificate, want none for a public name")
		}
		key := &served{url: s.url + "certificates/.weir-local.key"}
		if body, err := key.getTLS(t, authority, "localhost"); err != nil || strings.Contains(body, "PRIVATE") || !strings.Contains(body, "404") {
			t.Errorf("GET the authority's key from a site that serves its own folder: got %q, %v; want 404", body, err)
		}
		s.stop(t)
	}
}

func TestCertificatesOfASiteAreChosenByNameAndReloaded(t *testing.T) {
	dir := t.TempDir()
	a := certtest.New(t)
	authority, file := filepath.Join(dir, "authority.pem"), filepath.Join(dir, "site.hcl")
	write(t, authority, string(pemOf(a.Certificate.Raw)))
	var blocks strings.Builder
	for _, name := range []string{"a.test", "b.test"} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		cert, key := a.Files(t, folder, name)
		fmt.Fprintf(&blocks, " tls {\n  cert = %q\n  key = %q\n }\n", cert, key)
	}
	write(t, file, "server {\n listen = \"127.0.0.1:0\"\n"+blocks.String()+"}\ntext { text = \"hello\" }")
	if out, err := exec.Command(binary(t), "serve", "check", file).CombinedOutput(); err != nil {
		t.Errorf("serve check: got %v and %s, want a valid site", err, out)
	}
	s := serveCommand(t, file)
	for _, name := range []string{"a.test", "b.test"} {
		if body, err := s.getTLS(t, authority, name); err != nil || body != "hello" {
			t.Errorf("https://%s: got %q, %v; want hello under its certificate", name, body, err)
		}
	}
	a.Files(t, filepath.Join(dir, "b.test"), "c.test")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := s.getTLS(t, authority, "c.test")
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("https://c.test, 30 s after a change of the files: got %v, want the new certificate", err)
		}
	}
	s.stop(t)
}

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
