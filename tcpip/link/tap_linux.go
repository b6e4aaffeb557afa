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

// Tap is a TAP device, or a TUN device.
type Tap struct {
	name      string
	caps      Caps
	queues    []*tapQueue
	closeOnce sync.Once
}

// OpenTap opens a device. It needs CAP_NET_ADMIN, or a device made for this user. Read buffers take
// 64 KB for each frame of the largest batch so far. When OpenTap returns, the kernel sends through
// the device if it is up. A device that is down or was just made carries nothing until it is set
// up.
func OpenTap(c TapConfig) (*Tap, error) { return openDevice(c, Ethernet) }

// OpenTun opens a TUN device, as OpenTap does a TAP device. It carries IP packets, and has no
// hardware address: the one of c is not used.
func OpenTun(c TapConfig) (*Tap, error) { return openDevice(c, IP) }

func openDevice(c TapConfig, m Medium) (t *Tap, err error) {
	err = inNamespace(c.Namespace, func() error {
		t, err = openQueues(c, m)
		return err
	})
	return t, err
}

// openQueues opens the queues of a device.
func openQueues(c TapConfig, m Medium) (*Tap, error) {
	t := &Tap{name: c.Name, caps: Caps{Medium: m, Queues: max(c.Queues, 1), MTU: c.MTU}}
	plain := c.Plain
	for range t.caps.Queues {
		q, name, err := openQueue(t.name, m, t.caps.Queues > 1, plain)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.name, plain = name, q.plain // the other queues are like the first one
		t.queues = append(t.queues, q)
	}
	if t.caps.MAC = c.MAC; m == IP {
		t.caps.MAC = wire.MAC{}
	} else if c.MAC == (wire.MAC{}) {
		t.caps.MAC = macOf(t.name)
	}
	if !plain {
		t.caps.Superframe, t.caps.Checksum = maxSuperframe, true
	}
	device, err := waitForReader(t.name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("link: reading the state of %s: %w", t.name, err), t.Close())
	}
	if c.MTU == 0 {
		t.caps.MTU = device.MTU
	}
	for _, q := range t.queues {
		q.name, q.caps = t.name, t.caps
	}
	return t, nil
}

// readerTimeout is how long OpenTap waits for the kernel to notice that a device has a reader.
const readerTimeout = time.Second

// waitForReader waits until the kernel sends through a device, if it is up. The kernel notices a
// reader a moment after it attaches, and drops frames before that.
func waitForReader(name string) (*netlink.LinkAttrs, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return nil, err
		}
		a := l.Attrs()
		if a.Flags&net.FlagUp == 0 || a.OperState == netlink.OperUp || time.Since(begin) > readerTimeout {
			return a, nil
		}
	}
}

// Name returns the device's name.
func (t *Tap) Name() string { return t.name }

// Caps implements Link.
func (t *Tap) Caps() Caps { return t.caps }

// SetTransient makes a device of Setup non-persistent: the kernel removes it when its last user
// closes it or ends. It needs no capability.
func (t *Tap) SetTransient() error {
	if err := unix.IoctlSetInt(t.queues[0].fd, unix.TUNSETPERSIST, 0); err != nil {
		return fmt.Errorf("link: making %s non-persistent: %w", t.name, err)
	}
	return nil
}

// Queue implements Link.
func (t *Tap) Queue(i int) Queue { return t.queues[i] }

// Close implements Link. It returns when no Read or Write runs any more and the device is free.
func (t *Tap) Close() error {
	t.closeOnce.Do(func() {
		for _, q := range t.queues {
			q.close()
		}
	})
	return nil
}

// The offloads of a device with superframes. UDP segmentation is not among them: package link
// cannot segment it.
const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN

// openQueue opens a queue of the device, and makes the device if necessary. The queue is plain if
// the system or the device offers nothing else.
func openQueue(name string, m Medium, several, plain bool) (*tapQueue, string, error) {
	flags := uint16(modeOf(m) | unix.IFF_NO_PI)
	if several {
		flags |= unix.IFF_MULTI_QUEUE
	}
	if !plain {
		flags |= unix.IFF_VNET_HDR
	}
	fd, name, err := attach(name, flags)
	if errors.Is(err, errNoHeaders) {
		return openQueue(name, m, several, true)
	}
	if err != nil {
		return nil, "", err
	}
	if err := setOffloads(fd, plain); err != nil {
		unix.Close(fd)
		if !plain {
			return openQueue(name, m, several, true)
		}
		return nil, "", fmt.Errorf("link: turning off the offloads of %s: %w: remove the device and make it again", name, err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(fd)
		return nil, "", os.NewSyscallError("eventfd", err)
	}
	return &tapQueue{fd: fd, wakeFD: wake, plain: plain}, name, nil
}

// modeOf returns the mode of a device: TAP or TUN.
func modeOf(m Medium) int {
	if m == IP {
		return unix.IFF_TUN
	}
	return unix.IFF_TAP
}

// kindOf returns the name of the mode in the flags of a device.
func kindOf(flags uint16) string {
	if flags&unix.IFF_TUN != 0 {
		return "TUN"
	}
	return "TAP"
}

// setOffloads sets the device's offloads explicitly, because a persistent device keeps those of its
// last user.
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

// attach opens a queue of a device with these flags, and returns the device's name.
func attach(name string, flags uint16) (int, string, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return -1, "", fmt.Errorf("link: %q is not a valid device name: use at most 15 bytes", name)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, "", fmt.Errorf("link: opening /dev/net/tun: %w: load the tun driver (modprobe tun), and check the permissions", err)
	}
	known, err := unix.IoctlGetInt(fd, unix.TUNGETFEATURES)
	if err != nil {
		known = unix.IFF_TAP | unix.IFF_NO_PI
	}
	if err := checkFeatures(known, flags); err != nil {
		unix.Close(fd)
		return -1, name, err
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return -1, "", fmt.Errorf("link: attaching to the device %s: %w: %s", name, err, advice(err, name, flags))
	}
	return fd, request.Name(), nil
}

// checkFeatures returns an error if the system lacks a feature of the flags.
func checkFeatures(known int, flags uint16) error {
	switch missing := flags &^ uint16(known); {
	case missing&unix.IFF_MULTI_QUEUE != 0:
		return errors.New("link: this system's tun devices have only one queue: use one")
	case missing&unix.IFF_VNET_HDR != 0:
		return errNoHeaders
	}
	return nil
}

// advice says what to do when attaching to a device fails.
func advice(err error, name string, flags uint16) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Sprintf("get CAP_NET_ADMIN, or a device made for your user (ip tuntap add %s mode tap user NAME)", name)
	case errors.Is(err, unix.EBUSY):
		return "another program uses it: stop that, or use another device"
	case errors.Is(err, unix.E2BIG):
		return "a device has fewer queues: use fewer"
	case errors.Is(err, unix.EINVAL) && flags&unix.IFF_MULTI_QUEUE != 0:
		return "it is not a " + kindOf(flags) + " device, or was made for a single queue: use one queue, or make it with multi_queue"
	case errors.Is(err, unix.EINVAL):
		return "it is not a " + kindOf(flags) + " device, or was made for several queues: use two or more, or make it without multi_queue"
	}
	return "use another device"
}
