package site

import (
	"os"
	"strings"
	"testing"
)

func TestAServerHasSeveralCertificates(t *testing.T) {
	s, err := Parse("site.hcl", []byte(`
		server {
		  tls {
		    cert = "a.pem"
		    key  = "a.key"
		  }
		  tls {
		    acme   = ["example.org"]
		    agreed = true
		  }
		  tls {
		    self_signed = true
		    names       = ["app.localhost"]
		  }
		}
		text { text = "x" }`), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Services[0].TLS; len(got) != 3 || got[0].Cert != "a.pem" || got[1].ACME[0] != "example.org" || !got[2].SelfSigned || got[2].Names[0] != "app.localhost" {
		t.Errorf("got %+v, want the certificates of the three blocks", got)
	}
}

func TestCertificatesThatCannotBeAreRejected(t *testing.T) {
	for attributes, want := range map[string]string{
		"":             "tls needs either cert and key",
		"cert = \"a\"": "tls needs either cert and key",
		"key = \"a\"":  "tls needs either cert and key",
		"self_signed = true\n acme = [\"example.org\"]":         "tls needs either cert and key",
		"self_signed = true\n cert = \"a\"\n key = \"b\"":       "tls needs either cert and key",
		"cert = \"a\"\n key = \"b\"\n names = [\"x.test\"]":     "tls has names, which are those of a self-signed certificate",
		"self_signed = true\n names = [\"example.org\"]":        "is for names below localhost, test",
		"self_signed = true\n names = [\"8.8.8.8\"]":            "is for local addresses",
		"self_signed = true\n }\n tls {\n self_signed = true":   "two blocks tls have self_signed",
		"cert = \"a\"\n key = \"b\"\n }\n tls {\n cert = \"a\"": "tls needs either cert and key",
	} {
		_, err := Parse("site.hcl", []byte("server {\n tls {\n "+attributes+"\n }\n}\ntext { text = \"x\" }"), nil)
		if err == nil || !strings.Contains(err.Error(), "site.hcl:1,1-7: Invalid server") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", attributes, err, want)
		}
	}
}

// A key that clients can request is lost. That of the local authority is an error; others are
// reported, since their sites may have been served for long.
func TestAPrivateKeyInAServedFolderIsReported(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("www/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	const self, acme, pair = "self_signed = true", "acme = [\"example.org\"]\n agreed = true", "cert = \"a.pem\"\n key = \"a.key\""
	for _, c := range []struct{ tls, files, wrong, trouble string }{
		{self, `dir = "www"`, "", ""},
		{self, `dir = "."`, "", ""}, // the key's name starts with a dot
		{self, "dir = \".\"\n dotfiles = true", "site.hcl:1,1-6: Private key in a served folder", ""},
		{self + "\n store = \"www/keys\"", "dir = \"www\"\n dotfiles = true", "www/keys/.weir-local.key", ""},
		{self + "\n store = \"www\"", "dir = \"www/sub\"\n dotfiles = true", "", ""},
		{acme, `dir = "www"`, "", ""},
		{acme, `dir = "."`, "", "clients may request the private keys in certificates, because files serves the folder ."},
		{acme + "\n store = \".certificates\"", `dir = "."`, "", ""},
		{acme + "\n store = \"www/sub\"", `dir = "./www/../www"`, "", "private keys in www/sub"},
		{pair, `dir = "."`, "", "private keys in a.key"},
		{strings.ReplaceAll(pair, "a.key", "../a.key"), `dir = "."`, "", ""},
		{strings.ReplaceAll(pair, "a.key", "..key"), "dir = \".\"\n dotfiles = true", "", "private keys in ..key"},
	} {
		var trouble string
		in := newEnvironment(nil, true)
		in.reportTrouble = func(_, line string) { trouble += line }
		s, err := parse("site.hcl", []byte("files {\n"+c.files+"\n}\nserver {\n tls {\n"+c.tls+"\n }\n}"), in)
		if err == nil {
			err = s.Close()
		}
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s, %s: got %v, want an error with %q", c.tls, c.files, err, c.wrong)
		}
		if c.trouble == "" && trouble != "" || !strings.Contains(trouble, c.trouble) {
			t.Errorf("%s, %s: got the trouble %q, want %q", c.tls, c.files, trouble, c.trouble)
		}
	}
}
