package netsim

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"weir/tcpip/fabric"
	"weir/tcpip/link"
)

// outcome is what repeating a failed world has shown.
type outcome struct {
	repeatable bool
	needed     []int  // numbers of the faults with which alone the world fails
	minimal    bool   // and without any one of them it does not
	smallest   record // of the world that failed with these faults alone
}

// writeReport writes the report of a failed world into the folder of all reports, and returns its
// own folder.
func writeReport(all, test string, w *World, o outcome) (dir string, err error) {
	if err := ownFolder(all); err != nil {
		return all, err
	}
	dir = filepath.Join(all, fileName(packageName()+test), "seed-"+strconv.FormatUint(w.seed, 10))
	if err := os.RemoveAll(dir); err != nil { // an older report of the seed
		return dir, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return dir, err
	}
	hosts := w.reportedHosts()
	if err := w.writeCaptures(dir, hosts); err != nil {
		return dir, err
	}
	if err := os.WriteFile(filepath.Join(dir, "schedule.txt"), []byte(w.schedule()), 0o644); err != nil {
		return dir, err
	}
	page, err := w.page(test, o, hosts)
	if err != nil {
		return dir, err
	}
	return dir, os.WriteFile(filepath.Join(dir, "index.html"), page, 0o644)
}

// ownFolder makes the folder of all reports. The error is a link, or a folder that every user may
// change: its name is known, and on a shared machine another user may have made it.
func ownFolder(all string) error {
	if err := os.MkdirAll(all, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(all)
	if err != nil {
		return err
	}
	if !info.IsDir() || os.Getuid() >= 0 && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("%s is a link, or every user may write to it: remove it, or set TMPDIR to another folder", all)
	}
	return nil
}

// reportsFolder is the folder of all reports of a user: on a shared machine each has one.
func reportsFolder() string {
	name := "netsim"
	if id := os.Getuid(); id >= 0 {
		name += "-" + strconv.Itoa(id)
	}
	return filepath.Join(os.TempDir(), name)
}

// packageName is the name of the folder of the package that is tested, with a dot, so that tests of
// the same name have reports of their own. "" is unknown.
func packageName() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return filepath.Base(dir) + "."
}

// maxFileName limits what fileName returns.
const maxFileName = 100

// fileName turns a name into that of a file: letters, digits and underscores, no dot at its start.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] == '.' || name[0] == '-' {
		name = "_" + name
	}
	return name[:min(len(name), maxFileName)]
}

// reportedHost is a host in a report.
type reportedHost struct {
	Name    string
	Addrs   string
	File    string // of its capture
	Packets int
}

// reportedHosts returns the hosts of the world. Their files differ, also where the case of letters
// does not count.
func (w *World) reportedHosts() (all []*reportedHost) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[string]bool{}
	for _, m := range w.hosts {
		h := &reportedHost{Name: m.node.Name()}
		for _, p := range m.addrs {
			h.Addrs += " " + p.Addr().String()
		}
		h.Addrs = strings.TrimSpace(h.Addrs)
		stem := strings.ToLower(fileName(h.Name))
		name := stem
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", stem, n)
		}
		taken[name] = true
		h.File = name + ".pcapng"
		all = append(all, h)
	}
	return all
}

// writeCaptures writes a capture of each host.
func (w *World) writeCaptures(dir string, hosts []*reportedHost) error {
	events, _ := w.trace.all()
	fates := lossesOf(events)
	for _, h := range hosts {
		var b bytes.Buffer
		if err := w.capture(&b, h, events, fates); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, h.File), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// lossesOf returns why packets were dropped, by their numbers.
func lossesOf(events []tracedEvent) map[uint64]string {
	losses := map[uint64]string{}
	for _, e := range events {
		if e.kind == fabric.EventDropped {
			losses[e.number] = fmt.Sprintf("dropped at %s after %v: %s", e.node, e.at, e.why)
		}
	}
	return losses
}

// capture writes what a host has sent and received. A sent packet that was dropped has the reason
// as its comment.
func (w *World) capture(to io.Writer, h *reportedHost, events []tracedEvent, losses map[uint64]string) error {
	f, err := link.NewCaptureFile(to, link.IP, link.CaptureConfig{Name: h.Name[:min(len(h.Name), maxFileName)], Comment: fmt.Sprintf("netsim: seed %d, virtual time", w.seed)})
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.node != h.Name || e.kind == fabric.EventDropped {
			continue
		}
		p := link.CapturedPacket{At: w.began.Add(e.at), Sent: e.kind == fabric.EventSent, Bytes: e.packet}
		if p.Sent {
			p.Comment = losses[e.number]
		}
		if err := f.WritePacket(p); err != nil {
			return err
		}
		h.Packets++
	}
	return nil
}

// schedule is the text of the world's notes, faults and failures.
func (w *World) schedule() string {
	var b strings.Builder
	for _, n := range w.recorded().notes {
		fmt.Fprintf(&b, "%-14v %-7s %s  (%s)\n", n.At, n.Kind, strings.ReplaceAll(n.Text, "\n", "\n    "), n.Where)
	}
	return b.String()
}
