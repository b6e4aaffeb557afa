package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"weir/tcpip/fabric"
	"weir/tcpip/host"
)

// Config configures a run.
type Config struct {
	// arguments by which this program runs again as the guard: see program.Config
	Self []string
	// gets each line of output and each fault; any goroutine calls it
	Line func(line string)
	// ends what the programs have left, if a guard was killed: called when all programs have ended.
	// Default: nothing, and Run waits until such processes have closed their output
	EndOrphans func()
}

// File is the form of a file that describes a network and its programs:
//
//	path = "delay=5ms,loss=1%"   # of each link that has none of its own
//	[host.db]
//	command = ["redis-server", "--bind", "0.0.0.0"]
//	service = true               # ended when the programs that are no services have ended
//	[host.client]
//	command = ["redis-cli", "-h", "db", "ping"]
//	[[fault]]
//	at = "3s"
//	partition = [["db"], ["client"]]
//	[[fault]]
//	at = "5s"
//	heal = true
//
// Without links, there is one from each host to a switch.
type File struct {
	Seed    uint64              `toml:"seed"`
	Path    string              `toml:"path"`
	Hosts   map[string]HostFile `toml:"host"`
	Routers []string            `toml:"routers"`
	Links   []LinkFile          `toml:"link"`
	Faults  []FaultFile         `toml:"fault"`
}

// HostFile is a host of a File.
type HostFile struct {
	Command []string `toml:"command"`
	Service bool     `toml:"service"`
}

// LinkFile is a link between two hosts or routers.
type LinkFile struct {
	Between []string `toml:"between"`
	Path    string   `toml:"path"`
	MTU     int      `toml:"mtu"`
}

// FaultFile is something that happens at a time after the start.
type FaultFile struct {
	At        string     `toml:"at"`
	Partition [][]string `toml:"partition"`
	OneWay    bool       `toml:"one-way"`
	Heal      bool       `toml:"heal"`
	Kill      string     `toml:"kill"` // a host whose program is killed

	after time.Duration
}

// Parse parses a file and checks it.
func Parse(text []byte) (*File, error) {
	f := &File{}
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			return nil, fmt.Errorf("unknown keys:\n%s", unknown.String())
		}
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := at.Position()
			return nil, fmt.Errorf("line %d, column %d: %w", row, column, err)
		}
		return nil, err
	}
	return f, f.check()
}

// check checks what the form does not, and reads the times.
func (f *File) check() error {
	if len(f.Hosts) == 0 {
		return errors.New("there is no host: write [host.NAME] with a command")
	}
	for name, h := range f.Hosts {
		if len(h.Command) == 0 {
			return fmt.Errorf("host %q has no command", name)
		}
		for other := range f.Hosts { // names of DNS have no case
			if other < name && strings.EqualFold(other, name) {
				return fmt.Errorf("the hosts %q and %q differ in case only: give each a name of its own", other, name)
			}
		}
	}
	if _, err := pathOf(f.Path, 0); err != nil {
		return err
	}
	for _, l := range f.Links {
		if len(l.Between) != 2 || !f.isNode(l.Between[0]) || !f.isNode(l.Between[1]) {
			return fmt.Errorf("a link is between %q: name two hosts or routers", l.Between)
		}
		if _, err := pathOf(l.Path, l.MTU); err != nil {
			return err
		}
	}
	for n := range f.Faults {
		if err := f.checkFault(&f.Faults[n]); err != nil {
			return fmt.Errorf("fault %d: %w", n+1, err)
		}
	}
	slices.SortStableFunc(f.Faults, func(a, b FaultFile) int { return int(a.after - b.after) })
	return nil
}

func (f *File) checkFault(x *FaultFile) (err error) {
	if x.after, err = time.ParseDuration(x.At); err != nil || x.after < 0 {
		return fmt.Errorf("its time is %q: write it as at = \"1.5s\"", x.At)
	}
	if x.Partition == nil && !x.Heal && x.Kill == "" {
		return errors.New("it does nothing: write partition, heal or kill")
	}
	if x.Partition != nil && len(x.Partition) != 2 {
		return errors.New("a partition has two sides, each a list of hosts")
	}
	for _, name := range append(slices.Concat(x.Partition...), x.Kill) {
		if _, known := f.Hosts[name]; !known && name != "" {
			return fmt.Errorf("there is no host %q", name)
		}
	}
	return nil
}

func (f *File) isNode(name string) bool {
	_, is := f.Hosts[name]
	return is || slices.Contains(f.Routers, name)
}

// String describes a fault in a line.
func (x FaultFile) String() string {
	var parts []string
	if x.Partition != nil {
		sign := " | "
		if x.OneWay {
			sign = " -> "
		}
		parts = append(parts, "partition "+strings.Join(x.Partition[0], ", ")+sign+strings.Join(x.Partition[1], ", "))
	}
	if x.Heal {
		parts = append(parts, "heal")
	}
	if x.Kill != "" {
		parts = append(parts, "kill "+x.Kill)
	}
	return strings.Join(parts, ", ")
}

// pathOf returns the path of a link from its text.
func pathOf(text string, mtu int) (fabric.Path, error) {
	i, err := host.ParseImpairment(text)
	return fabric.Path{
		Delay: i.Delay, Jitter: i.Jitter, Rate: i.Rate, Queue: i.QueueBytes, CoDel: i.CoDel, MTU: mtu,
		Loss: i.Loss, Burst: i.Burst, Duplicate: i.Duplicate, Reorder: i.Reorder, ReorderDelay: i.ReorderDelay,
	}, err
}
