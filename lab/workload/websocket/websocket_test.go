package websocket

import (
	"strings"
	"testing"

	"weir/lab/internal/certificate"
	"weir/lab/load"
	"weir/lab/workload"
	"weir/lab/workload/http"
)

// checked returns a load after its check.
func checked(t *testing.T, l Load) *Load {
	t.Helper()
	if bad := l.Check(workload.Context{Workload: Name, Connections: []int{10}}); bad != "" {
		t.Fatalf("%+v: got %q, want a valid load", l, bad)
	}
	return &l
}

func TestALoadIsACommandOfTheGenerator(t *testing.T) {
	v := session{certificate: certificate.Files{Cert: "/c.pem"}}
	for _, test := range []struct {
		load Load
		to   workload.Target
		want string
	}{
		{Load{}, workload.Target{}, "ws --steer --connections 10 --size 100 ws://127.0.0.1:80/"},
		{Load{Common: workload.Common{Rate: 5}, Arrivals: load.Poisson, Size: 7, Path: "/a?b"}, workload.Target{Seed: 3}, "ws --steer --connections 10 --rate 50 --pattern poisson --seed 3 --size 7 ws://127.0.0.1:80/a?b"},
		{Load{Message: "-x", Headers: []string{"A: b"}}, workload.Target{}, "ws --steer --connections 10 --message=-x --text --any --header=A: b ws://127.0.0.1:80/"},
		{Load{Message: "x", Echo: true}, workload.Target{}, "ws --steer --connections 10 --message=x --text ws://127.0.0.1:80/"},
		{Load{Encryption: http.Encryption{TLS: true}}, workload.Target{}, "ws --steer --connections 10 --size 100 --ca /c.pem --key-exchange X25519 wss://127.0.0.1:80/"},
		{Load{Encryption: http.Encryption{Insecure: true}}, workload.Target{TLS: true, Elsewhere: true}, "ws --steer --connections 10 --size 100 --insecure --key-exchange X25519 wss://127.0.0.1:80/"},
	} {
		test.to.Addr = "127.0.0.1:80"
		if got := strings.Join(v.Args(checked(t, test.load), workload.Cell{Connections: 10}, test.to), " "); got != test.want {
			t.Errorf("got command %q, want %q", got, test.want)
		}
	}
}

func TestAnInvalidLoadIsRejectedWithARemedy(t *testing.T) {
	for _, test := range []struct {
		load Load
		want string
	}{
		{Load{Path: "chat"}, `the path "chat" is not that of an upgrade: write for example`},
		{Load{Path: "/a b"}, "is not that of an upgrade"},
		{Load{Message: "x", Size: 1}, "leave one of them out"},
		{Load{Message: "a\x00b"}, "must be valid text"},
		{Load{Message: "\xff"}, "must be valid text"},
		{Load{Message: strings.Repeat("x", maxMessage+1)}, "must be valid text of at most 65536 bytes"},
		{Load{Size: -1}, "out of range: give 1 to"},
		{Load{Size: 1 << 30}, "out of range: give 1 to"},
		{Load{Common: workload.Common{Rate: 1e6}}, "give 0.001 to 100000 for 10 connections"},
		{Load{Common: workload.Common{Connections: []int{0}}}, "connections must be numbers from 1"},
		{Load{Arrivals: load.Poisson}, "a closed loop has no arrival pattern"},
		{Load{Common: workload.Common{Rate: 1}, Arrivals: "even"}, `the pattern "even" is unknown`},
		{Load{Headers: []string{"no colon"}}, "header field 1 has no valid name"},
		{Load{Encryption: http.Encryption{Insecure: true, CA: "x"}}, "give one of them"},
	} {
		if bad := test.load.Check(workload.Context{Workload: Name, Connections: []int{10}}); !strings.Contains(bad, test.want) {
			t.Errorf("%+v: got %q, want %q in it", test.load, bad, test.want)
		}
	}
}

func TestALoadIsDescribed(t *testing.T) {
	for _, test := range []struct {
		load Load
		want string
	}{
		{Load{}, "a closed loop of messages of 100 bytes to /"},
		{Load{Common: workload.Common{Rate: 5, Cold: true}, Message: "hello", Path: "/a", Arrivals: load.Poisson, Encryption: http.Encryption{TLS: true}},
			`5 messages/s of 5 bytes per connection to /a, "hello", answered by any message, arrivals Poisson, by TLS, no warm-up`},
	} {
		if got := (Report{}).Describe(checked(t, test.load).Recorded()); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
