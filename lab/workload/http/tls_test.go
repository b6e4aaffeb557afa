package http

import (
	"strings"
	"testing"
	"weir/lab/workload/http/httpload"
)

// TestSubjectMustUseTheTLSOfTheLoad: subjects that encrypt differently do different work.
func TestSubjectMustUseTheTLSOfTheLoad(t *testing.T) {
	right := httpload.TLSReport{Version: tlsVersion, Cipher: tlsCipher, KeyExchange: keyExchange}
	for _, test := range []struct {
		name   string
		change func(*httpload.TLSReport)
		want   string // empty: no failure
	}{
		{"as the load asks", func(*httpload.TLSReport) {}, ""},
		{"another version", func(r *httpload.TLSReport) { r.Version = "TLS 1.2" }, "used the TLS version TLS 1.2"},
		{"another cipher", func(r *httpload.TLSReport) { r.Cipher = "TLS_AES_256_GCM_SHA384" }, "used the TLS cipher TLS_AES_256_GCM_SHA384"},
		{"another key exchange", func(r *httpload.TLSReport) { r.KeyExchange = "P-256" }, "used the TLS key exchange P-256"},
	} {
		seen := right
		test.change(&seen)
		got := strings.Join(TLSFailures(&seen), "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got failures %q, want %q", test.name, got, test.want)
		}
	}
}
