package sampler

import (
	"encoding/binary"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"
	"time"

	"weir/lab/internal/perfring"
	"weir/lab/sample"
)

// spinCPU is how long the sampled program computes.
const spinCPU = 300 * time.Millisecond

func TestSamplesAddUpToTheCPUOfTheGroup(t *testing.T) {
	g, err := sample.NewGroup("sampler-test")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const period = 251 * time.Microsecond
	s, err := Start(g, period)
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(os.Args[0], "spin")
	if err := g.Start(cmd, sample.Placement{}); err != nil {
		t.Fatal(err)
	}
	waited := cmd.Wait()
	rec, err := s.Stop()
	if err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	cpu, err := g.CPU()
	if err != nil {
		t.Fatal(err)
	}
	// samples of a core's time and its accounting agree but for the ends, and for time of the
	// hypervisor
	if sampled := time.Duration(len(rec.Samples)) * period; sampled < cpu/2 || sampled > 2*cpu {
		t.Errorf("got samples of %v and %d lost, want about the %v that were accounted", sampled, rec.Lost, cpu)
	}
	named := 0
	for _, x := range rec.Samples {
		if len(x.User) > 0 && len(rec.Maps[x.PID]) > 0 {
			named++
		}
	}
	if 10*named < 9*len(rec.Samples) {
		t.Errorf("got %d of %d samples with a chain and a map of memory, want nearly all", named, len(rec.Samples))
	}
}

// chain returns the body of a sample with the addresses.
func chain(pid uint32, cgroup uint64, ips ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, pid)
	b = binary.NativeEndian.AppendUint32(b, pid)
	b = binary.NativeEndian.AppendUint64(b, 7)
	b = binary.NativeEndian.AppendUint64(b, uint64(len(ips)))
	for _, ip := range ips {
		b = binary.NativeEndian.AppendUint64(b, ip)
	}
	return binary.NativeEndian.AppendUint64(b, cgroup)
}

func TestACallChainIsSeparatedAtItsMarkers(t *testing.T) {
	s := &Sampler{members: map[int]bool{5: true}}
	s.addSample(chain(5, 0, contextKernel, 0xffffffff81000010, 0xffffffff81000020, contextUser, 0x401000, 0x402000))
	s.addSample(chain(5, 0, contextUser, 0x401000))
	s.addSample(chain(5, 0, contextKernel, 0xffffffff81000010))
	want := []Sample{
		{5, 7, []uint64{0xffffffff81000010, 0xffffffff81000020}, []uint64{0x401000, 0x402000}},
		{5, 7, []uint64{}, []uint64{0x401000}},
		{5, 7, []uint64{0xffffffff81000010}, []uint64{}},
	}
	if !reflect.DeepEqual(s.samples, want) {
		t.Errorf("got %v, want %v", s.samples, want)
	}
}

func TestSamplesOfOtherProcessesAreDropped(t *testing.T) {
	s := &Sampler{members: map[int]bool{5: true}, cgroup: 42}
	s.addSample(chain(6, 1, contextUser, 0x401000))
	s.addSample(chain(6, 42, contextUser, 0x401000)) // of the group, but not seen before
	s.addSample(chain(5, 1, contextUser, 0x401000))
	if len(s.samples) != 2 || s.samples[0].PID != 6 || s.samples[1].PID != 5 {
		t.Errorf("got %v, want the samples of the cgroup and of the member", s.samples)
	}
}

func FuzzSamples(f *testing.F) {
	f.Add(chain(5, 0, contextKernel, 0xffffffff81000010, contextUser, 0x401000))
	f.Add(chain(5, 0)[:20])
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &Sampler{members: map[int]bool{int(perfring.Uint(body, 0, 4)): true}}
		s.addSample(body)
		for _, x := range s.samples {
			if 8*(len(x.Kernel)+len(x.User)) > len(body) {
				t.Errorf("got %d addresses from %d bytes", len(x.Kernel)+len(x.User), len(body))
			}
		}
	})
}

func TestMapsOfExecutableMemoryAreParsed(t *testing.T) {
	got := parseMaps("00400000-00452000 r-xp 00001000 08:02 173521      /usr/my bin/dbus (deleted)\n" +
		"00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/dbus\n" +
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \nnonsense\n")
	want := []Mapping{{0x400000, 0x452000, 0x1000, "/usr/my bin/dbus", true}, {Start: 0x7f0000000000, End: 0x7f0000001000}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzMaps(f *testing.F) {
	f.Add("00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMaps(text) {
			if m.Start >= m.End {
				t.Errorf("got %v, want a range that is not empty", m)
			}
		}
	})
}
