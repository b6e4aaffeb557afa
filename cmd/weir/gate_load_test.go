package main

import (
	"strings"
	"testing"

	"weir/lab/workload/http"
)

func TestAGateMayOpenAConnectionForEachRequest(t *testing.T) {
	e, err := (&gateCmd{Get: "/hello", NoKeepAlive: true}).load()
	if err != nil {
		t.Fatal(err)
	}
	l, ok := e.Loads[0].(*http.Load)
	if !ok || l.Path != "/hello" || !l.NoKeepAlive {
		t.Errorf("got the load %+v, want requests of /hello without keep-alive", e.Loads[0])
	}
	if _, err := (&gateCmd{Load: "echo", NoKeepAlive: true}).load(); err == nil || !strings.Contains(err.Error(), "no_keep_alive") {
		t.Errorf("echo without keep-alive: got error %v, want one that names the key", err)
	}
}
