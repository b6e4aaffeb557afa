package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"weir/wire"
)

// Tap is a TAP device.
type Tap struct {
	name   string
	caps   Caps
	queues []*tapQueue
	once   sync.Once
}

// OpenTap opens a device. It needs the right to (CAP_NET_ADMIN, or a device made for this user). A
// Read's buffers are 64 KB for each frame that was ever read at once. When it returns, the kernel
// sends through a device that is up; one that is not, or was made just now, is for others to start,
// and passes nothing before.
func OpenTap(c TapConfig) (t *Tap, err error) {
	err = inNamespace(c.Namespace, func() error {
		t, err = openTap(c)
		return err
	})
	return t, err
}

func openTap(c TapConfig) (*Tap, error) {
	t := &Tap{name: c.Name, caps: Caps{MAC: c.MAC, Queues: max(c.Queues, 1), MTU: c.MTU}}
	plain := c.Plain
	for range t.caps.Queues {
		q, name, err := openQueue(t.name, t.caps.Queues > 1, plain)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.name, plain = name, q.plain // as the first one has come to be, the others are
		t.queues = append(t.queues, q)
	}
	if t.caps.MAC == (wire.MAC{}) {
		t.caps.MAC = macOf(t.name)
	}
	if !plain {
		t.caps.Superframe, t.caps.Checksum = superframeMost, true
	}
	device, err := settled(t.name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("link: asking how %s is: %w", t.name, err), t.Close())
	}
	if c.MTU == 0 {
		t.caps.MTU = device.MTU
	}
	for _, q := range t.queues {
		q.name, q.caps = t.name, t.caps
	}
	return t, nil
}

// settling is how long OpenTap waits at most for the kernel to see that a device has a reader.
const settling = time.Second

// settled waits until the kernel sends through a device, if it is up: it notices a reader a moment
// after there is one, and drops what is sent before that.
func settled(name string) (*netlink.LinkAttrs, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return nil, err
		}
		a := l.Attrs()
		if a.Flags&net.FlagUp == 0 || a.OperState == netlink.OperUp || time.Since(begin) > settling {
			return a, nil
		}
	}
}

// Name is the device's.
func (t *Tap) Name() string { return t.name }

// Caps implements Link.
func (t *Tap) Caps() Caps { return t.caps }

// SetTransient has the device, one that Setup made, be removed when its last user closes it or
// ends. It needs no capability.
func (t *Tap) SetTransient() error {
	if err := unix.IoctlSetInt(t.queues[0].fd, unix.TUNSETPERSIST, 0); err != nil {
		return fmt.Errorf("link: having %s end with its user: %w", t.name, err)
	}
	return nil
}

// Queue implements Link.
func (t *Tap) Queue(i int) Queue { return t.queues[i] }

// Close implements Link. It returns when nobody reads or writes any more, and the device is free.
func (t *Tap) Close() error {
	t.once.Do(func() {
		for _, q := range t.queues {
			q.close()
		}
	})
	return nil
}

// What is asked of a device that gives and takes superframes. Segmentation of UDP is not: nobody
// here could cut it.
const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO_ECN

// openQueue opens a queue of the device, and the device with it if it is the first one. It is plain
// if the system or the device has it no other way.
func openQueue(name string, several, plain bool) (*tapQueue, string, error) {
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if several {
		flags |= unix.IFF_MULTI_QUEUE
	}
	if !plain {
		flags |= unix.IFF_VNET_HDR
	}
	fd, name, err := attach(name, flags)
	if errors.Is(err, errNoHeaders) {
		return openQueue(name, several, true)
	}
	if err != nil {
		return nil, "", err
	}
	if err := setOffloads(fd, plain); err != nil {
		unix.Close(fd)
		if !plain {
			return openQueue(name, several, true)
		}
		return nil, "", fmt.Errorf("link: telling %s to give frames as they are on a wire: %w: make the device anew", name, err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(fd)
		return nil, "", os.NewSyscallError("eventfd", err)
	}
	return &tapQueue{fd: fd, wakeFD: wake, plain: plain}, name, nil
}

// setOffloads says explicitly what the device is to do: one that outlives its users keeps what the
// last one has said.
func setOffloads(fd int, plain bool) error {
	if plain {
		return unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, 0)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, vnetHeader); err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETLE, 1); err != nil {
		return err
	}
	return unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads)
}

var errNoHeaders = errors.New("link: this system's tun devices have no virtio-net headers")

// attach opens a queue of a device with these flags, and gives the device's name.
func attach(name string, flags uint16) (int, string, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return -1, "", fmt.Errorf("link: %q is no name of a device: it has at most 15 bytes", name)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, "", fmt.Errorf("link: opening /dev/net/tun: %w: load the tun driver (modprobe tun), and be allowed to use it", err)
	}
	known, err := unix.IoctlGetInt(fd, unix.TUNGETFEATURES)
	if err != nil {
		known = unix.IFF_TAP | unix.IFF_NO_PI
	}
	if err := lacks(known, flags); err != nil {
		unix.Close(fd)
		return -1, name, err
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return -1, "", fmt.Errorf("link: taking the device %s: %w: %s", name, err, advice(err, name, flags))
	}
	return fd, request.Name(), nil
}

// lacks says what of the flags a system does not know.
func lacks(known int, flags uint16) error {
	switch missing := flags &^ uint16(known); {
	case missing&unix.IFF_MULTI_QUEUE != 0:
		return errors.New("link: this system's tun devices have one queue only: ask for one")
	case missing&unix.IFF_VNET_HDR != 0:
		return errNoHeaders
	}
	return nil
}

// advice is what to do when a device is not to be had.
func advice(err error, name string, flags uint16) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Sprintf("have CAP_NET_ADMIN, or a device made for you (ip tuntap add %s mode tap user NAME)", name)
	case errors.Is(err, unix.EBUSY):
		return "another program has it: end that, or name another device"
	case errors.Is(err, unix.E2BIG):
		return "that is more queues than a device has: ask for fewer"
	case errors.Is(err, unix.EINVAL) && flags&unix.IFF_MULTI_QUEUE != 0:
		return "it is no TAP device, or one made for a single queue: ask for one queue, or make it with multi_queue"
	case errors.Is(err, unix.EINVAL):
		return "it is no TAP device, or one made for several queues: ask for two or more, or make it without multi_queue"
	}
	return "name another device"
}
