package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/lab/workload/http/httpload"
)

// runHTTP runs the command against a server that answers with this status and body, and returns
// what it printed.
func runHTTP(t *testing.T, c httpCmd, status int, body string) (out, progress string, err error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write([]byte(body)) //nolint:errcheck // the client sees it
	}))
	defer s.Close()
	if c.URL == "" {
		c.URL = s.URL
	}
	c.Connections, c.Timeout = 2, time.Minute
	var files [2]*os.File
	for i, name := range []string{"out", "err"} {
		if files[i], err = os.Create(filepath.Join(t.TempDir(), name)); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	err = c.Run(context.Background(), newTerminal(files[0], files[1]))
	text := func(f *os.File) string { b, _ := os.ReadFile(f.Name()); return string(b) }
	return text(files[0]), text(files[1]), err
}

func TestLoadHTTPPrintsTheTableOfAb(t *testing.T) {
	out, progress, err := runHTTP(t, httpCmd{Requests: 20}, http.StatusOK, "hello")
	if err != nil || progress != "" {
		t.Errorf("load http: got error %v, progress %q, want none of both", err, progress)
	}
	for _, want := range []string{"answers      20 in", "processing", "waiting", "% within ms", "errors       none"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestLoadHTTPFailsWhenRequestsFail(t *testing.T) {
	expect := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(expect, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := runHTTP(t, httpCmd{Requests: 20, Expect: expect, loadFlags: loadFlags{JSON: true}}, http.StatusInternalServerError, "hello")
	var r httpload.Report
	if jsonErr := json.Unmarshal([]byte(out), &r); jsonErr != nil || r.Errors["status"] != 20 {
		t.Errorf("load http --json against status 500: got error %v (JSON), want 20 errors of status in:\n%s", jsonErr, out)
	}
	if err == nil || !strings.Contains(err.Error(), "the run had errors: status (20)") {
		t.Errorf("load http against status 500: got error %v, want one that counts 20 failed requests", err)
	}
}

func TestLoadHTTPReportsEachStepOfARamp(t *testing.T) {
	quick := 20 * time.Millisecond
	out, _, err := runHTTP(t, httpCmd{Ramp: "100:200:100", loadFlags: loadFlags{Duration: &quick}, NoKeepAlive: true}, http.StatusOK, "hello")
	if err != nil || strings.Count(out, "\n") != 3 || !strings.Contains(out, "attempted/s") {
		t.Errorf("--ramp: got error %v, want none, and a heading with a row for each of 2 rates in:\n%s", err, out)
	}
	out, _, err = runHTTP(t, httpCmd{Ramp: "100:200:100", loadFlags: loadFlags{Duration: &quick, JSON: true}}, http.StatusOK, "hello")
	var steps struct{ Steps []httpload.Report }
	if jsonErr := json.Unmarshal([]byte(out), &steps); err != nil || jsonErr != nil || len(steps.Steps) != 2 || steps.Steps[1].Rate != 200 {
		t.Errorf("--ramp --json: got errors %v, %v (JSON), want none, and 2 steps, the second at 200/s, in:\n%s", err, jsonErr, out)
	}
}

func TestLoadHTTPRefusesContradictoryFlags(t *testing.T) {
	zero, ten := 0.0, 10.0
	for want, c := range map[string]httpCmd{
		"--rate is 0":                   {Rate: &zero},
		"four different loads":          {Rate: &ten, Requests: 5},
		"can be steered":                {loadFlags: loadFlags{Steer: true, Knee: kneeFlag{given: true}}},
		"the ramp \"5\" is invalid":     {Ramp: "5"},
		"a cool-down of -1ns":           {Ramp: "1:2:1", CoolDown: -1},
		"a limit of 0s is out of range": {loadFlags: loadFlags{Knee: kneeFlag{given: true}}},
		"cannot read the expected body": {Expect: filepath.Join(t.TempDir(), "none")},
		"the URL \"x\" is invalid":      {URL: "x"},
		"cannot read the certificates":  {URL: "https://x/", tlsFlags: tlsFlags{CA: filepath.Join(t.TempDir(), "none")}},
		"are for https:// URLs":         {URL: "http://x/", tlsFlags: tlsFlags{Insecure: true}},
		"leave out the flags that":      {requestFlags: requestFlags{Mix: "x", Method: "POST"}},
		"cannot read the described":     {requestFlags: requestFlags{Mix: filepath.Join(t.TempDir(), "none")}},
		"cannot read the body of a":     {requestFlags: requestFlags{Body: "@" + filepath.Join(t.TempDir(), "none")}},
		"the status \"x\" is none":      {requestFlags: requestFlags{Status: "x"}},
	} {
		_, _, err := runHTTP(t, c, http.StatusOK, "hello")
		var u usageError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("want bad usage with %q, got %v", want, err)
		}
	}
}

// TestLoadHTTPSendsTheRequestOfItsFlags checks the flags as the command line gives them, and a file
// that describes the same request.
func TestLoadHTTPSendsTheRequestOfItsFlags(t *testing.T) {
	var wrong atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != "POST" || r.Header.Get("X-Test") != "a, b" || string(body) != "hello" {
			wrong.Add(1)
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"n": 1}`) //nolint:errcheck // the client sees it
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "body")
	mix := filepath.Join(t.TempDir(), "mix.toml")
	for name, text := range map[string]string{file: "hello", mix: "[[request]]\nmethod = 'POST'\nheaders = ['X-Test: a, b']\nbody = 'hello'\nstatus = 201\ncheck = { json = ['n=1'] }"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"--method", "POST", "--header", "X-Test: a, b", "--body", "hello", "--status", "2xx", "--json-field", "n=1", "--match", "n", "--length", "8"},
		{"--method=POST", "--header=X-Test: a, b", "--body=@" + file, "--status=201"},
		{"--mix", mix},
	} {
		out, err := commandLine(t, append([]string{"load", "http", "-c2", "-n20", "--timeout=1m", s.URL}, args...)...)
		if err != nil || wrong.Load() != 0 || !strings.Contains(out, "answers      20 in") {
			t.Errorf("%q: got error %v, %d wrong requests, want none, and 20 answers in\n%s", args, err, wrong.Load(), out)
		}
	}
}

// commandLine runs a command line and returns what it wrote.
func commandLine(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var c cli
	k, err := newParser(&c, newTerminal(file, file))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := k.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	parsed.BindTo(t.Context(), (*context.Context)(nil))
	err = parsed.Run()
	text, readErr := os.ReadFile(file.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(text), err
}
