package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/lab/profile/sampler"
	"weir/lab/result"
)

// user and kernel make the frames of a stack, outermost first.
func user(names ...string) (frames []Frame) {
	for _, n := range names {
		frames = append(frames, Frame{Name: n})
	}
	return frames
}

func kernel(frames []Frame, names ...string) []Frame {
	for _, n := range names {
		frames = append(frames, Frame{Name: n, Kernel: true})
	}
	return frames
}

// profileOf returns a profile of a second with 1000 messages and a period of 1 ms, in which each
// stack has so many samples in each block.
func profileOf(subject string, perBlock map[string]int, stacks map[string][]Frame) *Profile {
	p := &Profile{Subject: subject, Period: time.Millisecond}
	var samples []observed
	all := 0
	for name, n := range perBlock {
		for block := range blocksOfTrial {
			for i := range n {
				samples = append(samples, observed{stacks[name], time.Second + time.Duration(block)*100*time.Millisecond + time.Duration(i)})
			}
		}
		all += n * blocksOfTrial
	}
	p.add(samples, window{start: time.Second, length: time.Second, messages: 1000,
		cpu: []result.Sample{{AtMS: 0}, {AtMS: 1000, CPUNS: int64(all) * int64(time.Millisecond)}}})
	return p
}

var stacks = map[string][]Frame{
	"hash":  user("main.main", "main.serve", "sha256.block"),
	"read":  kernel(user("main.main", "syscall.read"), "entry_SYSCALL_64", "ksys_read", "tcp_recvmsg"),
	"alloc": user("main.main", "runtime.makeslice", "runtime.mallocgcLarge", "runtime.memclr"),
}

func TestRowsAddUpToTheTotal(t *testing.T) {
	d := Compare("load", profileOf("a", map[string]int{"read": 3, "hash": 1}, stacks), profileOf("b", map[string]int{"read": 3, "hash": 2, "alloc": 4}, stacks))
	var a, b Cost
	for _, r := range d.Rows {
		a, b = a+r.A, b+r.B
	}
	// a sample is 1 ms of 1000 messages: 1000 ns each
	if a != 40_000 || b != 90_000 || d.Total.A != 40_000 || d.Total.B != 90_000 || d.Unseen.A != 0 {
		t.Errorf("got rows of %v and %v, totals %v and %v, unseen %v; want 40 us, 90 us, the same and 0", a, b, d.Total.A, d.Total.B, d.Unseen.A)
	}
	if d.Tree.A != 40_000 || d.Tree.B != 90_000 {
		t.Errorf("got a tree of %v and %v, want 40 us and 90 us", d.Tree.A, d.Tree.B)
	}
}

func TestRowsAreOrderedByWhatSurelyDiffers(t *testing.T) {
	d := Compare("load", profileOf("a", map[string]int{"read": 3, "hash": 1}, stacks), profileOf("b", map[string]int{"read": 3, "hash": 2, "alloc": 4}, stacks))
	var got []string
	for _, r := range d.Rows {
		got = append(got, fmt.Sprintf("%s %s %s", r.Name, r.Kind, r.Diff.Signed()))
	}
	want := "runtime.mallocgc runtime +40 us, sha256.block function +10 us, read(2) system call 0 ns"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if callers := strings.Join(d.Rows[1].Callers, " < "); callers != "main.serve < main.main" {
		t.Errorf("got the callers %s, want main.serve < main.main", callers)
	}
}

func TestSamplesOutsideTheWindowDoNotCount(t *testing.T) {
	p := &Profile{Period: time.Millisecond}
	p.add([]observed{{user("f"), 99}, {user("f"), 100}, {user("f"), 199}, {user("f"), 200}}, window{start: 100, length: 100, messages: 10})
	if p.Samples != 2 {
		t.Errorf("got %d samples, want 2", p.Samples)
	}
}

func TestAStackBelongsToOneRow(t *testing.T) {
	for _, c := range []struct {
		frames []Frame
		want   rowKey
	}{
		{user("main.main", "main.f"), rowKey{"main.f", KindFunction}},
		{kernel(user("main.main"), "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_fsync", "ext4_sync_file"), rowKey{"fsync(2)", KindSystemCall}},
		{kernel(user("main.main"), "do_syscall_64", "ksys_write", "sock_write_iter"), rowKey{"write(2)", KindSystemCall}},
		{kernel(user("main.main"), "do_syscall_64", "do_epoll_wait.part.0"), rowKey{"epoll_wait(2)", KindSystemCall}},
		{kernel(user("runtime.mcall", "runtime.schedule"), "do_syscall_64", "__x64_sys_futex"), rowKey{"futex(2)", KindSystemCall}},
		{kernel(user("main.main"), "asm_exc_page_fault", "handle_mm_fault"), rowKey{"page faults", KindKernel}},
		{kernel(user("main.main"), "asm_sysvec_apic_timer_interrupt"), rowKey{"interrupts", KindKernel}},
		{kernel(user("main.main"), "entry_SYSCALL_64"), rowKey{"entry and exit of system calls", KindKernel}},
		{kernel(user("main.main"), unknownKernel), rowKey{"the kernel, without names", KindKernel}},
		{kernel(nil, "kthread"), rowKey{"other work of the kernel", KindKernel}},
		{user("main.f", "runtime.newobject", "runtime.mallocgcSmallNoscan", "runtime.gcAssistAlloc"), rowKey{"runtime.mallocgc", KindRuntime}},
		{user("runtime.gcBgMarkWorker.func2", "runtime.scanobject"), rowKey{"Go garbage collection", KindRuntime}},
		{user("main.f", "runtime.morestack", "runtime.newstack", "runtime.copystack", "runtime.pcvalue"), rowKey{"growth of goroutine stacks", KindRuntime}},
		{user("main.f", "runtime.readvarint"), rowKey{"runtime.readvarint", KindFunction}},
	} {
		if got := rowOf(c.frames); got != c.want {
			t.Errorf("%v: got %v, want %v", c.frames, got, c.want)
		}
	}
}

// TestASampleWithoutAStackHasARow: the kernel records one where it cannot walk the stack.
func TestASampleWithoutAStackHasARow(t *testing.T) {
	named := newResolver(nil).name(&sampler.Recording{Samples: []sampler.Sample{{PID: 1}}})
	if got := rowOf(named[0].frames); got != (rowKey{unknownCode, KindFunction}) {
		t.Errorf("got the row %v, want that of unknown code", got)
	}
}

func TestSmallNodesStayInTheirCallers(t *testing.T) {
	root := &Node{Name: "all"}
	root.add(user("main", "large"), 10_000, 0)
	root.add(user("main", "small"), 1, 1)
	root.prune(10)
	if main := root.Children[0]; main.A != 10_001 || len(main.Children) != 1 || main.Children[0].Name != "large" {
		t.Errorf("got %+v, want 10001 ns with one callee, large", main)
	}
}

func TestADeepStackIsCut(t *testing.T) {
	root := &Node{Name: "all"}
	root.add(user(strings.Split(strings.Repeat("f ", 1000), " ")...), 1, 0)
	if n := root.count(0); n > maxDepth+1 {
		t.Errorf("got %d nodes, want at most %d", n, maxDepth+1)
	}
}

func TestTextNamesTheDifference(t *testing.T) {
	d := Compare("load", profileOf("a", map[string]int{"read": 60, "hash": 1}, stacks), profileOf("b\x1b[31m", map[string]int{"read": 60, "hash": 3}, stacks))
	var b strings.Builder
	if err := d.WriteText(&b, 1, 80); err != nil {
		t.Fatal(err)
	}
	want := `A message costs a 610 us and b�[31m 630 us of CPU: +20 us (+20 us to +20 us, 95 % confidence) from a to b�[31m.

Where the 20 us more of b�[31m go:

       a  b�[31m  difference  ± (95 %)  
   10 us   30 us      +20 us      0 ns  sha256.block < main.serve < mai…
  600 us  600 us        0 ns            1 other rows
    0 ns    0 ns        0 ns      0 ns  not seen by the timer
  610 us  630 us      +20 us      0 ns  total
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
