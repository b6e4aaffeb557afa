package site

import (
	"slices"
	"testing"
)

func TestOneStringStandsForAListOfOne(t *testing.T) {
	s, err := Parse("site.hcl", []byte(`
		variable "net" { default = "10.0.0.0/8" }
		server {
		  trusted = var.net
		  tls {
		    acme   = "example.org"
		    agreed = true
		  }
		}
		files {
		  dir      = "."
		  fallback = "/index.html"
		  hide     = ""
		}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one := s.Services[0]
	if !slices.Equal(one.Trusted, []string{"10.0.0.0/8"}) || !slices.Equal(one.TLS[0].ACME, []string{"example.org"}) {
		t.Errorf("got trusted %q and acme %q, want lists of one", one.Trusted, one.TLS[0].ACME)
	}
	if err := checked(t, "files {\n dir = \".\"\n fallback = 5\n}\n", Values{}); err == nil {
		t.Error("a number for a list of strings: got no error, want one")
	}
	if err := checked(t, "files {\n dir = \".\"\n fallback = true\n}\n", Values{}); err == nil {
		t.Error("true for a list of strings: got no error, want one")
	}
}
