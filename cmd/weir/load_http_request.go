package main

import (
	"errors"
	"os"
	"strings"

	"weir/lab/workload/http/httpload"
)

// requestFlags describe the only request of a load, or name a file with several.
type requestFlags struct {
	Method  string   `placeholder:"GET" help:"Method of the request."`
	Headers []string `name:"header" sep:"none" placeholder:"'NAME: VALUE'" help:"A header field of the request. May be repeated. Other users of the machine see it: put secrets into a file of --mix."`
	Body    string   `placeholder:"TEXT|@FILE" help:"Body of the request."`
	Status  string   `placeholder:"200" help:"Status that every answer must have, such as 201, or its class, such as 2xx."`
	Length  *int64   `placeholder:"BYTES" help:"Length that the body of every answer must have."`
	SHA256  string   `name:"sha256" placeholder:"HEX" help:"SHA-256 that the body of every answer must have."`
	Match   string   `placeholder:"REGEXP" help:"Regular expression (RE2) that must be found in the body of every answer."`
	Fields  []string `name:"json-field" sep:"none" placeholder:"PATH=VALUE" help:"JSON field that every answer must have, such as user.name=Ann or items.0.id=7. May be repeated."`
	Mix     string   `placeholder:"FILE" predictor:"file" help:"Send the requests that this TOML file describes, in a random order by their weights; the same --seed has the same order."`
}

// one reports whether a flag describes the only request.
func (f *requestFlags) one() bool {
	return f.Method != "" || len(f.Headers) > 0 || f.Body != "" || f.Status != "" || f.checks()
}

// checks reports whether a flag checks the body of an answer.
func (f *requestFlags) checks() bool {
	return f.Length != nil || f.SHA256 != "" || f.Match != "" || len(f.Fields) > 0
}

// mix returns the described requests; none for a plain GET. With expected, the body that every
// answer must have is given.
func (f *requestFlags) mix(expected bool) ([]httpload.Request, error) {
	switch {
	case f.Mix != "" && (f.one() || expected):
		return nil, usageError{errors.New("load: --mix describes the requests and their answers: leave out the flags that describe one")}
	case f.Mix != "":
		return httpload.ReadMix(f.Mix)
	case !f.one():
		return nil, nil
	}
	r := httpload.Request{Method: f.Method, Headers: f.Headers, Body: f.Body, Status: httpload.Status(f.Status),
		Check: httpload.Check{Length: f.Length, SHA256: f.SHA256, Match: f.Match, JSON: f.Fields}}
	if name, isFile := strings.CutPrefix(f.Body, "@"); isFile {
		r.Body, r.BodyFile = "", name
	}
	// A GET without a check is compared with the first answer, as a plain one is.
	r.Check.Same = !expected && !f.checks() && (f.Method == "" || f.Method == "GET") && f.Status == ""
	dir, err := os.Getwd()
	if err == nil {
		err = r.ReadFiles(dir)
	}
	return []httpload.Request{r}, err
}
