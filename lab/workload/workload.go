package workload

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"weir/lab/contract"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
)

// A Workload is a kind of message.
type Workload interface {
	// Traits returns what the lab needs to know of the workload.
	Traits() Traits
	// Open checks that the trials of a run can take place at a site, which it may change, and
	// prepares what the trials share. The caller closes the Session.
	Open(ctx context.Context, s *Site, loads []Load) (Session, error)
	// Report returns what reports and comparisons need to know of the workload.
	Report() report.Kind
	// Contract returns the checks that servers of the workload must pass.
	Contract() contract.Kind
}

// Traits is what the lab needs to know of a workload.
type Traits struct {
	// the arrival patterns that an experiment can choose; nil: each load has its own
	Patterns []string
	// cores that the generator can use; more than one if it reads in a thread of its own
	GeneratorCores int
	// returns the highest rate that the generator offers over the connections, messages a second;
	// nil: the capacity of subjects is not searched, because no answer shows that they keep up
	MaxRate func(connections int) float64
	// returns the highest total rate at which the knee of a subject is searched; nil: it is not,
	// because the messages have no latency
	MaxKnee func(connections int) float64
	// the project's C subjects serve it: their builds by other compilers are tested
	TestsPortability bool
}

// A Session is a workload in one run. Its methods are for one goroutine.
type Session interface {
	// Start starts a subject for a trial.
	Start(ctx context.Context, s *subject.Subject, l Load) (*Running, error)
	// Args returns the arguments of weir load for a cell: the kind of load, its settings, and the
	// address.
	Args(l Load, c Cell, to Target) []string
	// RunAlone runs a trial whose subject measures itself, and sets the trial's figures.
	RunAlone(ctx context.Context, a Alone) (Evidence, error)
	// Fill adds to a trial what a generator's report has besides the figures of all loads.
	Fill(t *result.Trial, l Load, m Measured) error
	// Failures returns what the subject did wrong, and separately where it only did not keep up.
	Failures(t *result.Trial, ev Evidence) (wrong, slow Findings)
	// Rejections returns why a measurement is not valid, besides the reasons of all loads. onTime:
	// the generator is judged by its schedule.
	Rejections(t *result.Trial, ev Evidence, onTime bool) Findings
	// Close releases what the trials shared.
	Close() error
}

// Target is the subject of a load from the generator's view.
type Target struct {
	Addr      string // HOST:PORT; of a TCP/IP stack HOST
	Elsewhere bool   // the lab did not start it
	Seed      uint64 // of random arrivals
	TLS       bool   // its address is an https:// one
	// with TLS its certificate is not the lab's
	OwnCertificate bool
}

// Measured is what a trial with a generator measured.
type Measured struct {
	Subject *Running
	Report  json.RawMessage // the generator's
	// the reports of a garbage collector before and after the window; nil if there are none
	Before, After *result.RuntimeStats
}

// Alone is a trial whose subject measures itself.
type Alone struct {
	Subject *subject.Subject
	Load    Load
	Cell    Cell
	Window  time.Duration // length of the measured window
	Trial   *result.Trial
	// observes a process group while work runs
	Observe func(work func(*sample.Group) error) (Evidence, error)
}

// errNotAlone is the error of a workload whose loads all have a generator.
var errNotAlone = errors.New("lab: no load of this workload is measured by its subject")
