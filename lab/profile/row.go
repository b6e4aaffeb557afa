package profile

import (
	"strings"

	"weir/lab/profile/symbol"
)

// Kinds of rows.
const (
	KindFunction   = "function"
	KindSystemCall = "system call"
	KindRuntime    = "runtime" // a function of a language's runtime, with all that it calls
	KindKernel     = "kernel"  // outside of system calls
)

// rowKey identifies a row of a Difference. Each stack belongs to exactly one, so that the rows add
// up to the total.
type rowKey struct{ name, kind string }

// An owner is a part of a runtime: a stack in which one of its functions occurs belongs to it as a
// whole. Without owners an allocation would be spread over a dozen rows.
type owner struct {
	name     string
	prefixes []string // of function names
}

// owners are asked in the order of a stack's frames, outermost first.
var owners = []owner{
	{"runtime.mallocgc", []string{"runtime.mallocgc"}},
	{"Go garbage collection", []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.gcMarkDone", "runtime.gcMarkTermination", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcWriteBarrier", "runtime.wbBufFlush"}},
	{"growth of goroutine stacks", []string{"runtime.copystack"}},
	{"Go scheduler", []string{"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m", "runtime.gopark", "runtime.goready", "runtime.ready", "runtime.mstart", "runtime.sysmon", "runtime.exitsyscall", "runtime.entersyscall", "runtime.reentersyscall", "runtime.gopreempt_m", "runtime.goexit0"}},
}

// kernelParts name the work of the kernel outside of system calls by its entry functions.
var kernelParts = []struct{ name, part string }{
	{"page faults", "exc_page_fault"}, {"page faults", "do_page_fault"}, {"page faults", "do_mem_abort"},
	{"interrupts", "sysvec_"}, {"interrupts", "common_interrupt"}, {"interrupts", "el0_irq"}, {"interrupts", "el1_irq"},
	{"entry and exit of system calls", "entry_SYSCALL"}, {"entry and exit of system calls", "do_syscall_64"}, {"entry and exit of system calls", "el0_svc"},
	{"entry and exit of system calls", "syscall_return_via_sysret"}, {"entry and exit of system calls", "syscall_enter"}, {"entry and exit of system calls", "syscall_exit"},
	{"new threads and processes", "ret_from_fork"},
}

// rowOf returns the row of a stack, whose frames are outermost first.
func rowOf(frames []Frame) rowKey {
	inner := frames[len(frames)-1]
	if inner.Kernel {
		return kernelRow(frames)
	}
	for _, f := range frames {
		for _, o := range owners {
			if hasPrefix(f.Name, o.prefixes) {
				return rowKey{o.name, KindRuntime}
			}
		}
	}
	return rowKey{inner.Name, KindFunction}
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p); ok && (rest == "" || !startsLower(rest)) {
			return true
		}
	}
	return false
}

// startsLower reports whether a name goes on as the same word: "runtime.readyWithTime" is ready,
// "runtime.readvarint" is not.
func startsLower(rest string) bool { return rest[0] >= 'a' && rest[0] <= 'z' }

// kernelRow returns the row of a stack that ends in the kernel: the system call, or another reason
// to enter it.
func kernelRow(frames []Frame) rowKey {
	named := false
	for _, f := range frames {
		if !f.Kernel {
			continue
		}
		if call := symbol.SystemCall(f.Name); call != "" {
			return rowKey{call + "(2)", KindSystemCall}
		}
		named = named || f.Name != unknownKernel
	}
	if !named {
		return rowKey{"the kernel, without names", KindKernel}
	}
	for _, f := range frames {
		for _, k := range kernelParts {
			if f.Kernel && strings.Contains(f.Name, k.part) {
				return rowKey{k.name, KindKernel}
			}
		}
	}
	return rowKey{"other work of the kernel", KindKernel}
}

// shownCallers is the number of callers that a row names.
const shownCallers = 6

// callersOf returns the program's functions that lead to a row, innermost first, without the one
// that the row names.
func callersOf(frames []Frame, row rowKey) []string {
	var callers []string
	for i := len(frames) - 1; i >= 0 && len(callers) < shownCallers; i-- {
		if f := frames[i]; !f.Kernel && f.Name != row.name && f.Name != unknownCallers {
			callers = append(callers, f.Name)
		}
	}
	return callers
}
