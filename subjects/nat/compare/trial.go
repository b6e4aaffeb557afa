//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	hostPort = 5201  // of iperf3 outside
	webPort  = 8080  // of nginx
	pages    = 10000 // small pages of a trial, a connection each
	seconds  = "3"   // of each bulk measurement
)

// rows name the measurements of a trial, in their order.
var rows = []string{
	"TCP out: Gbit/s; CPU s/GB",
	"TCP in: Gbit/s; CPU s/GB",
	"UDP out, 1 Gbit/s: lost %; CPU s/GB",
	"UDP out, 1,400 bytes: lost %; CPU s/GB",
	"UDP in, 1,400 bytes: lost %; CPU s/GB",
	"pages by curl: 1/s; CPU us a page",
}

// measured is a figure, and the CPU time of the network for it.
type measured struct{ figure, cpu float64 }

// result has a measurement for each of rows.
type result []measured

// trial measures a network in a new guest.
func (n network) trial() (r result, err error) {
	g, err := n.start()
	if err != nil {
		return nil, err
	}
	defer g.stop()
	server := g.in("iperf3", "-s", "-p", fmt.Sprint(guestPort))
	if err := start(server); err != nil {
		return nil, err
	}
	defer end(server)
	out := []string{"iperf3", "-J", "-t", seconds, "-p", fmt.Sprint(hostPort), "-c", g.host}
	in := []string{"iperf3", "-J", "-t", seconds, "-p", fmt.Sprint(guestPort), "-c", outerAddr, "-B", otherAddr}
	small := []string{"-u", "-b", "400M", "-l", "1400"}
	for _, m := range []func() (measured, error){
		func() (measured, error) { return g.tcp(g.in(out...)) },
		func() (measured, error) { return g.tcp(exec.Command(in[0], in[1:]...)) },
		func() (measured, error) { return g.udp(g.in(append(out, "-u", "-b", "1G")...)) },
		func() (measured, error) { return g.udp(g.in(append(out, small...)...)) },
		func() (measured, error) { return g.udp(g.in(append(append(out, "-R"), small...)...)) },
		g.pages,
	} {
		one, err := m()
		if err != nil {
			return nil, err
		}
		r = append(r, one)
	}
	return r, nil
}

// report is the part of iperf3's output that is used.
type report struct {
	End struct {
		Received *struct {
			Bytes int64   `json:"bytes"`
			Bits  float64 `json:"bits_per_second"`
		} `json:"sum_received"`
		Sum struct {
			Bytes int64   `json:"bytes"`
			Lost  float64 `json:"lost_percent"`
		} `json:"sum"`
	} `json:"end"`
	Error string `json:"error"`
}

// iperf runs iperf3 and returns its report, and the CPU time of the network.
func (g *guest) iperf(c *exec.Cmd) (r report, cpu time.Duration, err error) {
	before := g.cpu()
	text, err := c.Output()
	if jsonErr := json.Unmarshal(text, &r); jsonErr != nil && err == nil {
		err = jsonErr
	}
	if r.Error != "" || err != nil {
		return r, 0, fmt.Errorf("%s: %v %s", strings.Join(c.Args, " "), err, r.Error)
	}
	return r, g.cpu() - before, nil
}

func (g *guest) tcp(c *exec.Cmd) (m measured, err error) {
	r, cpu, err := g.iperf(c)
	if err != nil {
		return m, err
	}
	return measured{r.End.Received.Bits / 1e9, cpu.Seconds() / (float64(r.End.Received.Bytes) / 1e9)}, nil
}

func (g *guest) udp(c *exec.Cmd) (m measured, err error) {
	r, cpu, err := g.iperf(c)
	if err != nil {
		return m, err
	}
	return measured{r.End.Sum.Lost, cpu.Seconds() / (float64(r.End.Sum.Bytes) / 1e9)}, nil
}

// pages fetches small pages, each by a connection of its own.
func (g *guest) pages() (m measured, err error) {
	before, began := g.cpu(), time.Now()
	c := g.in("curl", "-sS", "-f", "-o", "/dev/null", "-H", "Connection: close", fmt.Sprintf("%s?[1-%d]", g.page(), pages))
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return m, fmt.Errorf("curl: %w", err)
	}
	return measured{pages / time.Since(began).Seconds(), float64((g.cpu() - before).Microseconds()) / pages}, nil
}

// services are the programs outside that guests reach.
type services struct {
	folder   string
	commands []*exec.Cmd
}

// startServices configures this program's namespace and starts iperf3 and nginx.
func startServices() (*services, error) {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"}, {"addr", "add", otherAddr + "/32", "dev", "lo"},
		{"link", "add", "outside", "type", "veth", "peer", "name", "nowhere"}, {"link", "set", "nowhere", "up"}, {"addr", "add", outerAddr + "/24", "dev", "outside"},
		{"link", "set", "outside", "up"}, {"route", "add", "default", "via", "10.99.0.254"},
	} {
		if text, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, text)
		}
	}
	folder, err := os.MkdirTemp("", "compare")
	if err != nil {
		return nil, err
	}
	s := &services{folder: folder}
	config := fmt.Sprintf("daemon off; worker_processes 1; user root; pid %[1]s/pid; error_log stderr;\nevents { worker_connections 1024; }\nhttp { access_log off; tcp_nodelay on; open_file_cache max=10; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s; server { listen %[2]d reuseport; root %[1]s; } }\n", folder, webPort)
	for name, text := range map[string]string{"nginx.conf": config, "page": strings.Repeat("weir\n", 1000)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"iperf3", "-s", "-p", fmt.Sprint(hostPort)}, {"nginx", "-c", filepath.Join(folder, "nginx.conf")}} {
		c := exec.Command(args[0], args[1:]...)
		if err := start(c); err != nil {
			s.stop()
			return nil, err
		}
		s.commands = append(s.commands, c)
	}
	return s, nil
}

// stop ends the services.
func (s *services) stop() {
	for _, c := range s.commands {
		end(c)
	}
	os.RemoveAll(s.folder)
}
