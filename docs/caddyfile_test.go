package docs

import (
	"os/exec"
	"testing"
)

// TestTheSiteFilesBesideCaddyfilesLoad checks each site file of the page with the command. Their
// folders and files exist; upstreams and applications do not run.
func TestTheSiteFilesBesideCaddyfilesLoad(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"www/index.html", "www/404.html", "www/sorry.html", "app/index.html", "cgi-bin/hello"} {
		put(t, dir, file, "hello\n")
	}
	put(t, dir, "common.hcl", "security {}\n")
	put(t, dir, "users", "ann:$2a$04$abcdefghijklmnopqrstuuWq0kuzfIXIOqLMXZxxPoTBUmMTzQeTm\n")
	caddyfiles, sites := 0, 0
	for _, b := range blocks(t, "caddyfile-and-site-file.md") {
		switch b.kind {
		case "caddyfile":
			caddyfiles++
		case "hcl":
			sites++
			put(t, dir, b.file, b.text)
			cmd := exec.Command(weirBinary(t), "serve", "check", b.file)
			cmd.Dir = dir
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("site %d: got %v and\n%s\nwant a valid site:\n%s", sites, err, output, b.text)
			}
		}
	}
	if caddyfiles != sites || sites < 10 {
		t.Errorf("got %d Caddyfiles and %d site files, want at least 10 pairs", caddyfiles, sites)
	}
}
