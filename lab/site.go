package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"weir/internal/freeport"
	"weir/lab/internal/network"
	"weir/lab/sample"
)

// site is the placement of the two ends of trials: the cores and the network of each.
type site struct {
	host         string // the address that subjects listen on
	server, load sample.Placement
	sharedCores  bool // both ends use the same cores
	close        func() error
}

// newSite gives the subject its last serverCPUs cores and the generator the first of the others,
// loadCPUs at most. If none is left they share cores, and trials are judged by wider limits.
func newSite(serverCPUs, loadCPUs int, namespace bool) (*site, error) {
	cores, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	if serverCPUs < 1 || serverCPUs > len(cores) {
		return nil, fmt.Errorf("lab: the subject cannot have %d cores, this machine has %d: change --server-cpus", serverCPUs, len(cores))
	}
	s := &site{host: "127.0.0.1", close: func() error { return nil }}
	s.server.CPUs = slices.Clone(cores[len(cores)-serverCPUs:])
	s.load.CPUs = cores[:len(cores)-serverCPUs]
	if len(s.load.CPUs) == 0 {
		s.load.CPUs, s.sharedCores = cores[:1], true
	}
	s.load.CPUs = s.load.CPUs[:min(loadCPUs, len(s.load.CPUs))]
	if !namespace {
		return s, nil
	}
	return s, s.createNamespaces()
}

// placements returns the placements of the two ends where the subject has the given number of cores
// of its own, the last ones. With 0, or if none would be left, both use all.
func (s *site) placements(cores int) (subject, load sample.Placement, shared bool, err error) {
	all, err := allowedCPUs()
	if err != nil {
		return subject, load, false, err
	}
	if cores == 0 || cores >= len(all) {
		return sample.Placement{CPUs: all}, sample.Placement{CPUs: all}, true, nil
	}
	return sample.Placement{CPUs: all[len(all)-cores:]}, sample.Placement{CPUs: all[:len(all)-cores]}, false, nil
}

// freePort returns a free port for a subject. A namespace of its own has no other listeners.
func (s *site) freePort() (int, error) {
	if s.server.Netns != "" {
		return 20000, nil
	}
	return freeport.Choose(s.host)
}

// createNamespaces puts the two ends into network namespaces of their own, joined by a veth pair.
func (s *site) createNamespaces() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("lab: --namespace needs Linux and root: leave it out, or run as root")
	}
	cable, err := network.Cable(fmt.Sprintf("weir%d", os.Getpid()))
	if err != nil {
		return fmt.Errorf("lab: cannot make the network namespaces: %w", err)
	}
	s.host, s.close = cable.Host(), cable.Close
	s.server.Netns, s.load.Netns = cable.Subject, cable.Peer
	return nil
}

// loadCPUs returns how many cores the generator can use: it reads echoes in a separate thread.
func (e *Experiment) loadCPUs() int {
	if e.Workload == "echo" {
		return 2
	}
	return 1
}

// coresFor returns the number of cores that a subject can use; 0 if its CPU is not measured.
func (r *Runner) coresFor(measured bool) int {
	if !measured {
		return 0
	}
	return len(r.site.server.CPUs)
}
