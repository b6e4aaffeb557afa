package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/certificate/certtest"
)

// TestProgramsOfASiteInheritNoKeysOfSessions: a child process has them by a descriptor, and starts
// CGI programs.
func TestProgramsOfASiteInheritNoKeysOfSessions(t *testing.T) {
	for _, model := range []string{"prefork", "process"} {
		t.Run(model, func(t *testing.T) {
			dir := t.TempDir()
			a := certtest.New(t)
			a.Files(t, dir, "a.test")
			writeFile(t, filepath.Join(dir, "bin", "files"), "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nls -l /proc/self/fd\necho end\n")
			if err := os.Chmod(filepath.Join(dir, "bin", "files"), 0o755); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "site.hcl"), "server {\n  listen = \"127.0.0.1:0\"\n  engine = \"http1\"\n  model = \""+model+
				"\"\n  tls {\n    cert = \"cert.pem\"\n    key = \"key.pem\"\n  }\n}\ncgi { dir = \"bin\" }\n")
			s := &served{Cmd: exec.Command(binary(t), "serve", filepath.Join(dir, "site.hcl"))}
			s.url = s.start(t, "serving on") + "files"
			body, err := s.getTLS(t, filepath.Join(dir, "cert.pem"), "a.test")
			if err != nil || !strings.HasSuffix(body, "end\n") {
				t.Fatalf("got %q, %v; want a list of descriptors", body, err)
			}
			for line := range strings.Lines(body) {
				if strings.Contains(line, "memfd:") || strings.Contains(line, "socket:") {
					t.Errorf("the program has the descriptor %s, want neither the keys nor a socket", strings.TrimSpace(line))
				}
			}
			s.stop(t)
		})
	}
}
