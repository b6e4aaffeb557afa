//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	outerAddr = "10.99.0.1" // of the interface to the outside, which does not exist
	otherAddr = "10.98.0.1" // from which ports of the guest are reached: not a loopback address
	guestPort = 5301        // of iperf3 in the guest, published by the network
	guestMTU  = "65520"
)

// network is a user-mode network.
type network struct {
	name    string
	command []string // %d stands for the process whose namespace gets the network
	host    string   // the address by which the guest reaches the services
	// publishes guestPort after the start; nil: the command does
	publish func(socket string) error
}

// allNetworks returns what is compared, each as its manual recommends for speed.
func allNetworks(weir string) []network {
	port := strconv.Itoa(guestPort)
	return []network{
		{"weir", []string{weir, "stack", "nat", "--pid", "%d", "--mtu", guestMTU, "--loopback", "192.0.2.1", "-p", outerAddr + ":" + port + ":" + port}, "192.0.2.1", nil},
		{"pasta", []string{"pasta", "-f", "-q", "--config-net", "-m", guestMTU, "-t", port, "-u", "none", "-T", "none", "-U", "none", "%d"}, "10.99.0.254", nil},
		{"slirp4netns", []string{"slirp4netns", "--configure", "--mtu", guestMTU, "--api-socket", "%s", "%d", "tap0"}, "10.0.2.2", publishBySlirp},
	}
}

// publishBySlirp publishes guestPort by the API of slirp4netns.
func publishBySlirp(socket string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, `{"execute":"add_hostfwd","arguments":{"proto":"tcp","host_addr":"%s","host_port":%d,"guest_port":%d}}`, outerAddr, guestPort, guestPort); err != nil {
		return err
	}
	answer := make([]byte, 1024)
	n, err := c.Read(answer)
	if err == nil && strings.Contains(string(answer[:n]), "error") {
		err = fmt.Errorf("slirp4netns: %s", answer[:n])
	}
	return err
}

// guest is a namespace with a network.
type guest struct {
	network
	holder, process *exec.Cmd
	folder          string
}

// start makes a guest, and waits until it has a route to the services.
func (n network) start() (*guest, error) {
	g := &guest{network: n, holder: exec.Command("unshare", "--user", "--map-root-user", "--net", "sleep", "infinity")}
	var err error
	if g.folder, err = os.MkdirTemp("", "compare"); err != nil {
		return nil, err
	}
	if err := start(g.holder); err != nil {
		return nil, err
	}
	if err := until("the guest's namespace", g.hasNamespace); err != nil {
		return nil, err
	}
	socket := filepath.Join(g.folder, "api")
	args := make([]string, len(n.command))
	for i, a := range n.command {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(a, "%d", strconv.Itoa(g.holder.Process.Pid)), "%s", socket)
	}
	if text, err := g.in("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ip: %w: %s", err, text)
	}
	g.process = exec.Command(args[0], args[1:]...)
	if err := start(g.process); err != nil {
		return nil, err
	}
	if err := until("the guest's network", func() bool { return g.in("curl", "-s", "-m", "1", "-o", "/dev/null", g.page()).Run() == nil }); err != nil {
		return nil, err
	}
	if n.publish != nil {
		return g, n.publish(socket)
	}
	return g, nil
}

// page is the address of a page for the guest.
func (g *guest) page() string { return fmt.Sprintf("http://%s:%d/page", g.host, webPort) }

// hasNamespace reports whether the guest's process has left this program's namespace.
func (g *guest) hasNamespace() bool {
	own, err := os.Readlink("/proc/self/ns/net")
	its, itsErr := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", g.holder.Process.Pid))
	return err == nil && itsErr == nil && own != its
}

// in returns a command that runs in the guest.
func (g *guest) in(args ...string) *exec.Cmd {
	pid := strconv.Itoa(g.holder.Process.Pid)
	return exec.Command("nsenter", append([]string{"--target", pid, "--user", "--net", "--preserve-credentials", "--"}, args...)...)
}

// stop ends the guest and its network.
func (g *guest) stop() {
	end(g.process)
	end(g.holder)
	os.RemoveAll(g.folder)
}

// cpu returns the CPU time of the network's process so far.
func (g *guest) cpu() time.Duration {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", g.process.Process.Pid)) //nolint:errcheck // the pattern is valid
	var sum time.Duration
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64) //nolint:errcheck // the kernel writes a number
		sum += time.Duration(ns)
	}
	return sum
}

// start starts a command that ends with this program.
func start(c *exec.Cmd) error {
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c.Start()
}

// end ends a command.
func end(c *exec.Cmd) {
	if c.Process == nil {
		return
	}
	c.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(3*time.Second, func() { c.Process.Kill() })
	defer timer.Stop()
	c.Wait()
}

// until waits until ready reports true, for at most ten seconds.
func until(what string, ready func() bool) error {
	for deadline := time.Now().Add(10 * time.Second); !ready(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not there after ten seconds", what)
		}
	}
	return nil
}
