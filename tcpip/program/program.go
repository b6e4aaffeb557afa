// Package program runs unmodified programs on a stack of package tcpip: what a program and all that
// it starts open as internet sockets are sockets of that stack. It needs neither root nor
// namespaces, and works for static and dynamic programs alike.
//
// # How it works
//
// A helper process, the guard, installs a filter of system calls (seccomp) and starts the program
// under it. The kernel stops a thread that makes a system call about sockets, and notifies this
// process, the supervisor, which answers in the kernel's place:
//
//	program ──> read, write, poll, epoll, dup, close ──> kernel: a Unix socket pair
//	   │                                                       │
//	   └──> socket, connect, bind, accept, getsockname ··> supervisor <──> tcpip.Stack
//
// The answer to socket is one end of a pair of Unix sockets. The supervisor has the other end and
// copies between it and a connection of the stack. So whatever moves data costs no notification:
// the program does it in the kernel. Only calls that have addresses or options are stopped.
//
// The program gets no internet socket of the kernel: socket decides by a register, and inherited
// sockets are closed before the start. So a call on any other descriptor can be left to the kernel,
// even though another thread could change its arguments meanwhile. There is one exception. A
// process outside can pass a socket by a Unix socket. The supervisor looks at the next message
// (MSG_PEEK), and then leaves recvmsg to the kernel. So it finds each passed socket only while one
// thread at a time receives from the Unix socket, and none changes the header of the call
// meanwhile.
//
// A descriptor is recognized by the inode of its socket. Copies of it, by dup, fork or a Unix
// socket, are the same socket.
//
// # Processes
//
//	process      its end
//	supervisor   ends the guard, and with it everything
//	guard        when the command has ended: it ends what the command has left
//	command      its status is that of Wait
//
// The guard adopts processes whose parents end. If the supervisor is killed, the guard kills them
// all. If the guard is killed, the kernel kills the command, and calls of others fail with ENOSYS.
//
// # Goroutines
//
//	goroutine      how many                          until
//	notifications  one                               no process with the filter is left
//	a waiting call one for a call that must wait     it is answered, or its thread calls again
//	outgoing       one for each socket               the program has closed it
//	incoming       one for each connection, listener the connection or the socket ends
//	               and datagram socket
//
// # Limitations
//
// It is no sandbox against malice: a program can ask processes outside for help, by a Unix socket
// or by ptrace. It needs Linux 5.14 on amd64 or arm64, and the right to trace the program, which
// kernel.yama.ptrace_scope 2 and 3 take away. Programs that forbid tracing (PR_SET_DUMPABLE) get no
// internet sockets.
//
// Raw and packet sockets, io_uring, other ABIs of the processor, and sockets that are inherited or
// passed from outside are refused. A read after an error of the network other than a reset returns
// ECONNRESET; SO_ERROR has the exact error. A datagram socket without a destination accepts what
// write sends, and drops it. An ICMP error is reported by calls with an address, and by SO_ERROR
// only: nothing sets the error of a Unix socket but the end of its peer, which is final, so poll
// and epoll do not wake for it. Datagram sockets do not share ports, join no groups, and do not
// report the TOS octet. There is no urgent data. Interfaces that a program lists are those of the
// machine.
//
// A signal at the moment of an answer has the kernel lose it: rarely, a bind that is restarted
// fails with EINVAL, or a datagram is lost or sent twice. The filter could have
// SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19), with which only fatal signals interrupt a
// call that the supervisor has received. But accept, connect and recvfrom are such calls while they
// wait. No handler of a signal would run until they end, SIGTERM would be ignored behind another
// pending signal, and the thread could not be stopped or frozen. A process has one filter with
// notifications, and the supervisor cannot see which call waits before it has received it, so the
// flag cannot be for other calls only.
package program

import (
	"net/netip"
	"os"

	"weir/tcpip"
)

// Config configures a program. The zero value of a field means its default.
type Config struct {
	Stack   *tcpip.Stack // the program's network; it stays the caller's, and outlives the program
	Command []string     // the program and its arguments
	// arguments by which this program runs again as the guard: it must call Inside with the
	// descriptor whose number is appended to them
	Self []string
	// files 0, 1 and 2 of the command. Default: those of this process
	Files [3]*os.File
	// where queries to port 53 of any address go. Zero: they are not redirected
	NameServer netip.AddrPort
	// gets one line for each kind of call that is refused, by any goroutine: for the first 100, and
	// at the end one line with the number of other calls. Default: none
	Refused func(line string)
}

// StartError is the error of a command that could not be started.
type StartError struct {
	Status int // that a shell gives: 127 if there is no such program, else 126
	Reason string
}

// Error implements error.
func (e *StartError) Error() string { return e.Reason }
