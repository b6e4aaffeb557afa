package reason

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/internal/perfring"
	"weir/lab/sample"
)

const (
	ringPages     = 512 // pages of data per core, 2 MB: some 20,000 records
	drainInterval = 10 * time.Millisecond
)

// perf traces by tracepoints. start and stop run on the caller's goroutine, everything in between
// on the draining goroutine.
type perf struct {
	points tracepointSet
	fds    []int
	rings  []*perfring.Ring
	quit   chan struct{} // closed by stop
	done   chan struct{} // closed when the draining goroutine has ended

	// owned by the draining goroutine until done is closed
	syscallsByNumber map[uint64]int64
	wakeupsByThread  map[uint64]int64 // wake-ups by thread, whole machine
	switchesByThread map[uint64]int64 // switches away by thread, the group
	lostRecords      int64
}

func tracepoints(g *sample.Group) (*perf, error) {
	if g.Dir() == "" {
		return nil, fmt.Errorf("they need a group with cgroup v2, this one has %s", g.Method().Name)
	}
	points, err := findPoints()
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(g.Dir())
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	p := &perf{points: points, quit: make(chan struct{}), done: make(chan struct{}),
		syscallsByNumber: map[uint64]int64{}, wakeupsByThread: map[uint64]int64{}, switchesByThread: map[uint64]int64{}}
	if err := p.open(int(dir.Fd())); err != nil {
		return nil, errors.Join(err, p.close())
	}
	go p.drain()
	return p, nil
}

// open opens the events of every core, with one ring buffer per core, and then enables them all.
func (p *perf) open(cgroup int) error {
	for cpu := range perfring.OnlineCPUs() {
		leader, err := p.event(p.points.syscall, cgroup, cpu, unix.PERF_FLAG_PID_CGROUP)
		if err != nil {
			return fmt.Errorf("perf_event_open: %w (it needs root)", err)
		}
		r, err := perfring.New(leader, ringPages)
		if err != nil {
			return err
		}
		p.rings = append(p.rings, r)
		leave, err1 := p.event(p.points.leave, cgroup, cpu, unix.PERF_FLAG_PID_CGROUP)
		// the waker is usually another process, so wake-ups are traced on the whole machine
		wakeup, err2 := p.event(p.points.wakeup, -1, cpu, 0)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for _, fd := range []int{leave, wakeup} {
			if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, leader); err != nil {
				return err
			}
		}
	}
	for _, fd := range p.fds {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return err
		}
	}
	return nil
}

func (p *perf) event(t tracepoint, pid, cpu, flags int) (int, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: t.id, Sample: 1, Sample_type: unix.PERF_SAMPLE_RAW,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled}
	fd, err := unix.PerfEventOpen(&attr, pid, cpu, -1, flags|unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		p.fds = append(p.fds, fd)
	}
	return fd, err
}

// drain empties the ring buffers until stop.
func (p *perf) drain() {
	defer close(p.done)
	ticker := time.NewTicker(drainInterval)
	defer ticker.Stop()
	for {
		for _, r := range p.rings {
			p.lostRecords += r.Read(p.record)
		}
		select {
		case <-p.quit:
			return
		case <-ticker.C:
		}
	}
}

// record counts one record, which starts with the tracepoint's number.
func (p *perf) record(r perfring.Record) {
	raw := r.Raw()
	if raw == nil {
		return
	}
	switch id := uint64(perfring.Uint(raw, 0, 2)); id {
	case p.points.syscall.id:
		p.syscallsByNumber[p.points.syscall.value(raw)]++
	case p.points.wakeup.id:
		p.wakeupsByThread[p.points.wakeup.value(raw)]++
	case p.points.leave.id:
		p.switchesByThread[p.points.leave.value(raw)]++
	}
}

func (t tracepoint) value(raw []byte) uint64 { return perfring.Uint(raw, t.offset, t.size) }

func (p *perf) stop() (Counts, error) {
	var errs []error
	for _, fd := range p.fds {
		errs = append(errs, unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0))
	}
	close(p.quit)
	<-p.done
	for _, r := range p.rings {
		p.lostRecords += r.Read(p.record)
	}
	c := p.counts()
	return c, errors.Join(append(errs, p.close())...)
}

func (p *perf) counts() Counts {
	c := Counts{Tool: "tracepoints", ByName: map[string]int64{}, LostRecords: p.lostRecords}
	for nr, n := range p.syscallsByNumber {
		c.Syscalls += n
		c.ByName[syscallName(nr)] += n
	}
	for tid, n := range p.switchesByThread {
		c.Switches += n
		c.Wakeups += p.wakeupsByThread[tid]
	}
	if p.lostRecords > 0 {
		c.Note = fmt.Sprintf("the kernel dropped %d records: the counts are too low by as many", p.lostRecords)
	}
	return c
}

func (p *perf) close() error {
	var errs []error
	for _, r := range p.rings {
		errs = append(errs, r.Close())
	}
	for _, fd := range p.fds {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}
