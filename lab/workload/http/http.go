// Package http is the workload of HTTP requests: for the files of a folder, to web servers or to
// proxies before one, and as a load describes them, to servers of any making.
//
// # Limitations
//
// Requests for files are for one path in each load.
package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"weir/lab/contract"
	"weir/lab/internal/certificate"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
)

// The names of the workloads.
const (
	Page  = "page"  // one small page
	Files = "files" // a file of 4 KB
	Proxy = "proxy" // requests for the files of an upstream behind the subject
	// requests as the load describes them, for whatever the subject serves
	Requests = "requests"
)

// Workload is one of the workloads of requests.
type Workload struct{ Described bool } // the load describes the requests

// Traits implements workload.Workload.
func (Workload) Traits() workload.Traits {
	return workload.Traits{GeneratorCores: 1, MaxKnee: func(int) float64 { return httpload.MaxRate }}
}

// Report implements workload.Workload.
func (Workload) Report() report.Kind { return Report{} }

// Contract implements workload.Workload.
func (w Workload) Contract() contract.Kind {
	if w.Described {
		return (&Load{Path: "/"}).Contract(1)
	}
	return Contract
}

// Open implements workload.Workload. For files of the lab it makes the folder that subjects serve,
// a certificate if a load needs one, and starts the upstream behind proxies.
func (w Workload) Open(ctx context.Context, s *workload.Site, loads []workload.Load) (workload.Session, error) {
	v := &session{Servers: workload.Servers{Site: s}}
	var err error
	var encryptions []*Encryption
	for _, l := range loads {
		encryptions = append(encryptions, &l.(*Load).Encryption)
	}
	if v.certificate, err = MakeCertificate(s, encryptions); err != nil {
		return nil, err
	}
	if w.Described {
		return v, v.writeMixes(loads)
	}
	if v.www, err = makeWWW(s.Dir); err != nil || s.Workload != Proxy {
		return v, err
	}
	v.upstream, err = startUpstreamProcess(ctx, v.www, s)
	return v, err
}

type session struct {
	workload.Servers
	mixes       map[string]string // files of described requests by the names of loads
	www         string            // absolute path of the folder that subjects serve
	certificate certificate.Files
	upstream    *upstreamProcess // behind proxies; else nil
}

// writeMixes writes the described requests of each load into a file of the run.
func (v *session) writeMixes(loads []workload.Load) error {
	v.mixes = map[string]string{}
	for i, l := range loads {
		of := l.(*Load)
		mix := of.mix()
		if len(mix) == 0 {
			continue
		}
		text, err := httpload.FormatMix(mix)
		if err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		file, err := filepath.Abs(filepath.Join(v.Site.Dir, fmt.Sprintf("requests%d.toml", i+1)))
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("lab: cannot write the described requests: %w: name another directory with --out", err)
		}
		v.mixes[of.Name] = file
	}
	return nil
}

// Start implements workload.Session.
func (v *session) Start(ctx context.Context, s *subject.Subject, l workload.Load) (*workload.Running, error) {
	of := l.(*Load)
	p := subject.Params{Www: v.www, SleepMS: of.SleepMS, SleepEvery: of.SleepEvery, Filters: of.Filters, Gzip: of.Gzip}
	if of.TLS {
		p.Cert, p.Key = v.certificate.Cert, v.certificate.Key
	}
	if v.upstream == nil {
		return v.StartServer(ctx, s, p)
	}
	p.Upstream = v.upstream.addr
	r, err := v.StartServer(ctx, s, p)
	if err == nil {
		r.Aside, r.SharedCores = v.upstream.group, true
	}
	return r, err
}

// Args implements workload.Session. Responses are compared with the lab's file, unless the subject
// serves its own.
func (v *session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	of := l.(*Load)
	args := []string{"http", "--steer", "--connections", strconv.Itoa(c.Connections)}
	if of.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(of.Rate*float64(c.Connections), 'f', -1, 64))
	}
	if of.Arrivals != "" {
		args = append(args, "--pattern", of.Arrivals)
	}
	if of.Arrivals != "" || v.mixes[of.Name] != "" {
		args = append(args, "--seed", strconv.FormatUint(to.Seed, 10))
	}
	if of.NoKeepAlive {
		args = append(args, "--no-keep-alive")
	}
	if of.Gzip {
		args = append(args, "--accept-encoding", "gzip")
	}
	if !to.Elsewhere && v.www != "" {
		args = append(args, "--expect", filepath.Join(v.www, filepath.FromSlash(of.Path)))
	}
	if of.HTTP2 {
		args = append(args, "--http2", "--streams", strconv.Itoa(max(of.Streams, 1)))
	}
	if file := v.mixes[of.Name]; file != "" {
		args = append(args, "--mix", file)
	}
	if !of.Uses(to) {
		return append(args, "http://"+to.Addr+of.target())
	}
	return append(append(args, of.Args(v.certificate, to)...), "https://"+to.Addr+of.target())
}

// Fill implements workload.Session.
func (v *session) Fill(t *result.Trial, l workload.Load, m workload.Measured) error {
	var r httpload.Report
	if err := json.Unmarshal(m.Report, &r); err != nil {
		return err
	}
	FillHTTP(t, result.HTTP{Attempted: r.Offered, Answered: r.Answered, Failed: r.Failed, BodyBytes: r.BodyBytes, LatencyMeanUS: r.LatencyMeanUS, Streams: l.(*Load).Streams, Errors: r.Errors},
		m.Subject.Subject, r.TLS)
	return nil
}

// FillHTTP stores the outcomes h in a trial. seen is how its connections to s were encrypted; nil:
// not at all.
func FillHTTP(t *result.Trial, h result.HTTP, s *subject.Subject, seen *httpload.TLSReport) {
	t.HTTP = &h
	workload.FillClosed(t)
	switch {
	case seen == nil:
	case s.ServesTLS():
		t.FailedBecause = append(t.FailedBecause, TLSFailures(seen)...)
	default:
		t.HTTP.TLS = seen.Version + ", " + seen.Cipher
	}
}

// Close implements workload.Session.
func (v *session) Close() error { return errors.Join(v.upstream.close(), v.Servers.Close()) }
