package workload

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"weir/internal/freeport"
	"weir/lab/internal/network"
	"weir/lab/sample"
	"weir/lab/subject"
)

// A Site is where the trials of a run take place: the cores and the network of each end.
type Site struct {
	Workload string // the name of the run's workload
	Dir      string // the directory of the run
	Program  string // the program weir, which holds the load generators
	Targets  bool   // some subjects run already, and are not started by the lab
	// for a subject to become ready; 0: the default
	ReadyTimeout time.Duration

	Host         string // the address that subjects listen on
	Server, Load sample.Placement
	SharedCores  bool // both ends use the same cores

	close func() error
}

// NewSite gives the subject its last serverCPUs cores and the generator the first of the others,
// loadCPUs at most. If none is left they share cores, and trials are judged by wider limits. With
// namespaces the two ends are in network namespaces of their own, joined by a veth pair, which
// needs Linux and root. Close must be called.
func NewSite(serverCPUs, loadCPUs int, namespaces bool) (*Site, error) {
	cores, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	if serverCPUs < 1 || serverCPUs > len(cores) {
		return nil, fmt.Errorf("lab: the subject cannot have %d cores, this machine has %d: change --server-cpus", serverCPUs, len(cores))
	}
	s := &Site{Host: "127.0.0.1", close: func() error { return nil }}
	s.Server.CPUs = slices.Clone(cores[len(cores)-serverCPUs:])
	s.Load.CPUs = cores[:len(cores)-serverCPUs]
	if len(s.Load.CPUs) == 0 {
		s.Load.CPUs, s.SharedCores = cores[:1], true
	}
	s.Load.CPUs = s.Load.CPUs[:min(loadCPUs, len(s.Load.CPUs))]
	if !namespaces {
		return s, nil
	}
	return s, s.createNamespaces()
}

// Placements returns the placements of the two ends where the subject has the given number of cores
// of its own, the last ones. With 0, or if none would be left, both use all.
func (s *Site) Placements(cores int) (subject, load sample.Placement, shared bool, err error) {
	all, err := allowedCPUs()
	if err != nil {
		return subject, load, false, err
	}
	if cores == 0 || cores >= len(all) {
		return sample.Placement{CPUs: all}, sample.Placement{CPUs: all}, true, nil
	}
	return sample.Placement{CPUs: all[len(all)-cores:]}, sample.Placement{CPUs: all[:len(all)-cores]}, false, nil
}

// InNamespaces reports whether the two ends are in network namespaces of their own.
func (s *Site) InNamespaces() bool { return s.Server.Netns != "" }

// Close removes the network namespaces.
func (s *Site) Close() error { return s.close() }

// portFor returns the port of a subject that has one, or a free port. A namespace of its own has no
// other listeners.
func (s *Site) portFor(of *subject.Subject) (int, error) {
	if of.Port != 0 {
		return of.Port, nil
	}
	if s.InNamespaces() {
		return 20000, nil
	}
	return freeport.Choose(s.Host)
}

// createNamespaces puts the two ends into network namespaces of their own, joined by a veth pair.
func (s *Site) createNamespaces() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("lab: --veth needs Linux and root: leave it out, or run as root")
	}
	cable, err := network.Cable(fmt.Sprintf("weir%d", os.Getpid()))
	if err != nil {
		return fmt.Errorf("lab: cannot make the network namespaces: %w", err)
	}
	s.Host, s.close = cable.Host(), cable.Close
	s.Server.Netns, s.Load.Netns = cable.Subject, cable.Peer
	return nil
}
