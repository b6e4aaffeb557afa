package sampler

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

// ringPages is the size of a core's buffer: 2 MB hold a second of samples at 4 kHz.
const ringPages = 512

// A Sampler samples a group. Start and Stop run on the caller's goroutine, everything in between on
// the draining goroutine.
type Sampler struct {
	group  *sample.Group
	cgroup uint64 // of the group; 0 if it has no v2 cgroup
	period time.Duration
	fds    []int
	rings  []*perfring.Ring
	quit   chan struct{} // closed by Stop
	done   chan struct{} // closed when the draining goroutine has ended

	// owned by the draining goroutine until done is closed
	members map[int]bool // processes of the group, also those that have ended
	maps    map[int][]Mapping
	samples []Sample
	frames  int // of all samples
	lost    int64
}

// Start starts sampling a group, a sample per period on each core. The caller must Stop it before
// it closes the group.
func Start(g *sample.Group, period time.Duration) (*Sampler, error) {
	s := &Sampler{group: g, cgroup: cgroupID(g.Dir()), period: period, quit: make(chan struct{}), done: make(chan struct{}),
		members: map[int]bool{}, maps: map[int][]Mapping{}}
	s.findMembers()
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	go s.drain()
	return s, nil
}

// Check returns why this process cannot sample call stacks; nil if it can.
func Check() error {
	s := &Sampler{period: time.Second}
	return errors.Join(s.open(), s.close())
}

// cgroupID returns the number by which samples name a cgroup: the inode of its folder.
func cgroupID(dir string) uint64 {
	var st unix.Stat_t
	if dir == "" || unix.Stat(dir, &st) != nil {
		return 0
	}
	return st.Ino
}

// open opens an event with its buffer on each core, and then enables all.
func (s *Sampler) open() error {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(s.period), Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_CGROUP,
		Bits:    unix.PerfBitDisabled | unix.PerfBitExcludeIdle | unix.PerfBitTask | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitUseClockID,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	for cpu := range perfring.OnlineCPUs() {
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return fmt.Errorf("call stacks cannot be sampled: perf_event_open: %w: run as root, or set the sysctl kernel.perf_event_paranoid to -1", err)
		}
		s.fds = append(s.fds, fd)
		r, err := perfring.New(fd, ringPages)
		if err != nil {
			return fmt.Errorf("call stacks cannot be sampled: mapping the buffer of core %d: %w", cpu, err)
		}
		s.rings = append(s.rings, r)
	}
	for _, fd := range s.fds {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return err
		}
	}
	return nil
}

// drain empties the buffers until Stop.
func (s *Sampler) drain() {
	defer close(s.done)
	ticker := time.NewTicker(DrainInterval)
	defer ticker.Stop()
	for {
		s.readRings()
		select {
		case <-s.quit:
			return
		case <-ticker.C:
		}
	}
}

// readRings takes the new records, and reads the maps of processes that are new.
func (s *Sampler) readRings() {
	s.findMembers()
	first := len(s.samples)
	for _, r := range s.rings {
		s.lost += r.Read(s.record)
	}
	for _, x := range s.samples[first:] {
		if _, ok := s.maps[x.PID]; !ok && len(s.maps) < maxProcesses {
			s.maps[x.PID] = readMaps(x.PID)
		}
	}
}

// findMembers adds the living processes of the group. It is needed only without a cgroup.
func (s *Sampler) findMembers() {
	if s.cgroup != 0 && len(s.members) > 0 {
		return
	}
	pids, err := s.group.PIDs()
	if err != nil {
		return // the group's processes have ended
	}
	for _, pid := range pids {
		if !s.members[pid] && len(s.members) < maxProcesses {
			s.members[pid], s.maps[pid] = true, readMaps(pid)
		}
	}
}

// record takes one record.
func (s *Sampler) record(r perfring.Record) {
	switch r.Kind {
	case unix.PERF_RECORD_SAMPLE:
		s.addSample(r.Body)
	case unix.PERF_RECORD_FORK: // u32 pid, ppid, tid, ptid; a child has its parent's memory
		pid, parent := int(perfring.Uint(r.Body, 0, 4)), int(perfring.Uint(r.Body, 4, 4))
		if m, ok := s.maps[parent]; ok && pid != parent && len(s.maps) < maxProcesses {
			s.maps[pid] = m
			s.members[pid] = s.members[parent]
		}
	case unix.PERF_RECORD_COMM: // u32 pid, tid; the program of the process is another one now
		if r.Misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0 {
			delete(s.maps, int(perfring.Uint(r.Body, 0, 4)))
		}
	}
}

// Markers in a call chain: what follows is of the kernel, or of the program (linux/perf_event.h).
const (
	contextKernel = ^uint64(128) + 1
	contextUser   = ^uint64(512) + 1
	contextMax    = ^uint64(4095) + 1 // addresses from here on are markers
)

// addSample decodes a sample of the group: u32 pid, u32 tid, u64 time, u64 n, n addresses, u64
// cgroup. Samples of other processes are dropped.
func (s *Sampler) addSample(body []byte) {
	pid, n := int(perfring.Uint(body, 0, 4)), int(min(perfring.Uint(body, 16, 8), uint64(len(body)/8)))
	cgroup := perfring.Uint(body, 24+8*n, 8)
	if !s.members[pid] && (s.cgroup == 0 || cgroup != s.cgroup) {
		return
	}
	if len(s.samples) == maxSamples || s.frames+n > maxFrames {
		s.lost++
		return
	}
	x := Sample{PID: pid, At: time.Duration(perfring.Uint(body, 8, 8))}
	x.Kernel, x.User = parseChain(body, n)
	s.frames += n
	s.samples = append(s.samples, x)
}

// parseChain separates the n addresses of a call chain at its markers.
func parseChain(body []byte, n int) (kernel, user []uint64) {
	all := make([]uint64, 0, n)
	var context uint64
	userFrom := 0
	for i := range n {
		switch ip := perfring.Uint(body, 24+8*i, 8); {
		case ip >= contextMax:
			if context = ip; ip == contextUser {
				userFrom = len(all)
			}
		case context == contextKernel || context == contextUser:
			all = append(all, ip)
		}
	}
	if context != contextUser {
		userFrom = len(all)
	}
	return all[:userFrom:userFrom], all[userFrom:]
}

// Stop ends the sampling and returns what was seen. The maps of living processes are read again,
// because programs load libraries and compile code as they run.
func (s *Sampler) Stop() (*Recording, error) {
	var errs []error
	for _, fd := range s.fds {
		errs = append(errs, unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0))
	}
	close(s.quit)
	<-s.done
	s.readRings()
	if pids, err := s.group.PIDs(); err == nil {
		for _, pid := range pids {
			if m := readMaps(pid); len(m) > 0 {
				s.maps[pid] = m
			}
		}
	}
	found := &Recording{Samples: s.samples, Period: s.period, Lost: s.lost, Maps: s.maps}
	return found, errors.Join(append(errs, s.close())...)
}

func (s *Sampler) close() error {
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.Close())
	}
	for _, fd := range s.fds {
		errs = append(errs, os.NewSyscallError("close", unix.Close(fd)))
	}
	return errors.Join(errs...)
}
