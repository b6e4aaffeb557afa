package http

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The files that subjects of the HTTP workloads serve, in the folder www of a run.
const (
	wwwDir   = "www"
	pageFile = "page.html" // 174 bytes, as in article 001
	textFile = "4k.html"   // 4,096 bytes of text, as in paper 004
)

const (
	pageBytes = 174
	textBytes = 4096
)

// page returns a small page of exactly pageBytes.
func page() string {
	const head, foot = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Hello!</title></head>\n<body>\n<h1>Hello!</h1>\n<p>Hi from the lab", "</p>\n</body>\n</html>\n"
	return head + strings.Repeat(".", pageBytes-len(head)-len(foot)) + foot
}

// words make a text that compresses about as well as English: few repetitions beyond single words.
var words = strings.Fields(`
	a weir is the low dam across river that both steers stream and measures it water rises
	behind until runs over crest in one smooth sheet whose depth tells how much passes each
	second nothing turns no dial needed who reads staff at bank knows flow old mills had several
	of them built from oak stone or clay they failed every flood were mended by summer boats
	went through gate left open for an hour while miller waited fish used ladders beside later
	came concrete gauges paper drums floats wires finally numbers sent to town where nobody had
	seen place`)

// text returns a page of exactly textBytes.
func text() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Text</title></head>\n<body>\n<p>")
	const foot = "</p>\n</body>\n</html>\n"
	for i, state := 0, uint32(1); b.Len() < textBytes; i++ {
		state = state*1664525 + 1013904223 // the text is deterministic
		if i > 0 && i%90 == 0 {
			b.WriteString(".</p>\n<p>")
		} else if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[int(state>>8)%len(words)])
	}
	return b.String()[:textBytes-len(foot)] + foot
}

// makeWWW creates the folder that subjects serve, in the directory of a run, and returns its path.
// It may be called again. All users may read it, because some servers drop their privileges.
func makeWWW(run string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(run, wwwDir))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	for name, content := range map[string]string{pageFile: page(), textFile: text()} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
		}
	}
	if err != nil {
		return "", fmt.Errorf("lab: cannot make the folder that servers are to serve: %w: name another directory with --out", err)
	}
	return dir, nil
}
