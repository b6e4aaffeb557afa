package lab

import (
	"slices"
	"strings"
	"testing"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload/http/httpload"
)

// TestSubjectMustUseTheTLSOfTheLoad: subjects that encrypt differently do different work.
func TestSubjectMustUseTheTLSOfTheLoad(t *testing.T) {
	right := httpload.TLSReport{Version: tlsVersion, Cipher: tlsCipher, KeyExchange: keyExchange}
	for _, test := range []struct {
		name   string
		load   Load
		change func(*httpload.TLSReport)
		want   string // empty: no failure
	}{
		{"as the load asks", Load{TLS: true}, func(*httpload.TLSReport) {}, ""},
		{"a load without TLS", Load{}, func(r *httpload.TLSReport) { r.Cipher = "other" }, ""},
		{"another version", Load{TLS: true}, func(r *httpload.TLSReport) { r.Version = "TLS 1.2" }, "used the TLS version TLS 1.2"},
		{"another cipher", Load{TLS: true}, func(r *httpload.TLSReport) { r.Cipher = "TLS_AES_256_GCM_SHA384" }, "used the TLS cipher TLS_AES_256_GCM_SHA384"},
		{"another key exchange", Load{TLS: true}, func(r *httpload.TLSReport) { r.KeyExchange = "P-256" }, "used the TLS key exchange P-256"},
	} {
		seen := right
		test.change(&seen)
		got := strings.Join(tlsFailures(test.load, &seen), "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got failures %q, want %q", test.name, got, test.want)
		}
	}
}

func TestLoadsWithTLSAreForSubjectsThatTakeACertificate(t *testing.T) {
	able := contender{Subject: &subject.Subject{Name: "able", RunCmd: []string{"server", "{addr}", "{cert}", "{key}"}}}
	unable := contender{Subject: &subject.Subject{Name: "unable", RunCmd: []string{"server", "{addr}"}}}
	elsewhere := contender{Subject: able.Subject, Target: "192.0.2.1:80"}
	for _, test := range []struct {
		name string
		all  map[string]contender
		load Load
		want []string
	}{
		{"all subjects", map[string]contender{"able": able, "unable": unable}, Load{TLS: true}, []string{"able"}},
		{"named subjects", map[string]contender{"able": able, "unable": unable}, Load{TLS: true, Subjects: []string{"unable", "able"}}, []string{"able"}},
		{"a running server", map[string]contender{"able": elsewhere}, Load{TLS: true}, []string{"subjects with {cert}"}},
		{"no TLS", map[string]contender{"unable": unable}, Load{}, nil},
	} {
		r := &Runner{subjects: test.all, experiment: &Experiment{Settings: Settings{Loads: []Load{test.load}}}, results: &result.Results{}}
		for name := range test.all {
			r.results.Subjects = append(r.results.Subjects, result.Subject{Name: name})
		}
		r.restrictTLS()
		if got := r.experiment.Loads[0].Subjects; !slices.Equal(got, test.want) {
			t.Errorf("%s: got the subjects %q, want %q", test.name, got, test.want)
		}
	}
}
