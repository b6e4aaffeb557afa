package site

import (
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

func TestKeysOfTicketsNeedTLS(t *testing.T) {
	_, err := Parse("site.hcl", []byte("server { ticket_keys = \"keys\" }\ntext { text = \"x\" }"), nil)
	if want := "ticket_keys is for TLS: add a block tls"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
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
