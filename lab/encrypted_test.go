package lab

import (
	"slices"
	"testing"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
)

func TestLoadsWithTLSAreForSubjectsThatTakeACertificate(t *testing.T) {
	able := contender{Subject: &subject.Subject{Name: "able", RunCmd: []string{"server", "{addr}", "{cert}", "{key}"}}}
	unable := contender{Subject: &subject.Subject{Name: "unable", RunCmd: []string{"server", "{addr}"}}}
	elsewhere := contender{Subject: able.Subject, Target: "192.0.2.1:80"}
	for _, test := range []struct {
		name string
		all  map[string]contender
		load *http.Load
		want []string
	}{
		{"all subjects", map[string]contender{"able": able, "unable": unable}, &http.Load{Encryption: http.Encryption{TLS: true}}, []string{"able"}},
		{"named subjects", map[string]contender{"able": able, "unable": unable}, &http.Load{Encryption: http.Encryption{TLS: true}, Common: workload.Common{Subjects: []string{"unable", "able"}}}, []string{"able"}},
		{"a running server", map[string]contender{"able": elsewhere}, &http.Load{Encryption: http.Encryption{TLS: true}}, []string{"subjects with {cert}, or with insecure or ca for subjects with a certificate of their own"}},
		{"no TLS", map[string]contender{"unable": unable}, &http.Load{}, nil},
	} {
		r := &Runner{subjects: test.all, experiment: &Experiment{Settings: Settings{Loads: []workload.Load{test.load}}}, results: &result.Results{}}
		for name := range test.all {
			r.results.Subjects = append(r.results.Subjects, result.Subject{Name: name})
		}
		r.restrictLoads()
		if got := test.load.Subjects; !slices.Equal(got, test.want) {
			t.Errorf("%s: got the subjects %q, want %q", test.name, got, test.want)
		}
	}
}
