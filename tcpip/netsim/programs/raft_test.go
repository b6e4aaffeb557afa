package programs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"testing"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"weir/tcpip/netsim"
)

// Three members of a cluster of etcd's raft agree on the order of entries, while one at a time is
// cut off or pauses.
func TestRaft(t *testing.T) {
	netsim.Run(t, netsim.Seeds(20), func(w *netsim.World) {
		var members []*member
		var nodes []netsim.Node
		var hosts netsim.Group
		for id := range uint64(3) {
			h := w.Host(fmt.Sprintf("raft%d", id+1))
			nodes, hosts = append(nodes, h), append(hosts, h)
			members = append(members, newMember(w, h, id+1))
		}
		w.Join(netsim.Path{Delay: 2 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.01}, nodes...)
		for _, m := range members {
			m.host.Start(m.run)
		}
		w.Chaos(netsim.Faults{Isolate: hosts, Pause: hosts, Until: 45 * time.Second, Every: 5 * time.Second, Longest: 10 * time.Second})
		for n := range 40 {
			time.Sleep(time.Second)
			members[w.Rand().IntN(3)].node.Propose(w.Context(), fmt.Appendf(nil, "entry %d", n)) //nolint:errcheck // it may be dropped
		}
		time.Sleep(20 * time.Second)
		agree(w, members)
	})
}

// agree checks that all members have applied the same entries, and most of those that were
// proposed.
func agree(w *netsim.World, members []*member) {
	first := members[0].applied()
	for _, m := range members[1:] {
		if got := m.applied(); fmt.Sprint(got) != fmt.Sprint(first) {
			w.Errorf("member %d has applied %q, member 1 %q: want the same", m.id, got, first)
		}
	}
	if len(first) < 20 {
		w.Errorf("%d entries of 40 are applied, want at least half", len(first))
	}
}

// member is a member of the cluster. Its messages go by a connection to each other member.
type member struct {
	w       *netsim.World
	host    *netsim.Host
	id      uint64
	node    raft.Node
	storage *raft.MemoryStorage

	mu sync.Mutex
	// the run -> the sender of each member; capacity 256, never closed
	conns   map[uint64]chan *raftpb.Message
	entries []string
}

func newMember(w *netsim.World, h *netsim.Host, id uint64) *member {
	m := &member{w: w, host: h, id: id, storage: raft.NewMemoryStorage(), conns: map[uint64]chan *raftpb.Message{}}
	config := &raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: m.storage, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
		Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}}
	m.node = raft.StartNode(config, []raft.Peer{{ID: 1}, {ID: 2}, {ID: 3}})
	w.Cleanup(m.node.Stop)
	return m
}

func (m *member) applied() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.entries...)
}

// run drives the member until its host ends.
func (m *member) run(h *netsim.Host) error {
	l, err := h.Listen("tcp", ":2380")
	if err != nil {
		return err
	}
	go m.accept(h, l)
	for id := range uint64(3) {
		if id+1 != m.id {
			out := make(chan *raftpb.Message, 256)
			m.conns[id+1] = out
			go m.send(h, fmt.Sprintf("raft%d:2380", id+1), out)
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-h.Context().Done():
			return nil
		case <-tick.C:
			m.node.Tick()
		case ready := <-m.node.Ready():
			m.handle(ready)
			m.node.Advance()
		}
	}
}

func (m *member) handle(ready raft.Ready) {
	m.storage.Append(ready.Entries) //nolint:errcheck // in memory
	if !raft.IsEmptyHardState(ready.HardState) {
		m.storage.SetHardState(ready.HardState) //nolint:errcheck // in memory
	}
	for _, message := range ready.Messages {
		select {
		case m.conns[message.GetTo()] <- message:
		default: // raft sends it again
		}
	}
	for _, e := range ready.CommittedEntries {
		switch {
		case e.GetType() == raftpb.EntryConfChange:
			var change raftpb.ConfChange
			if proto.Unmarshal(e.Data, &change) == nil {
				m.node.ApplyConfChange(&change)
			}
		case len(e.Data) > 0:
			m.mu.Lock()
			m.entries = append(m.entries, string(e.Data))
			m.mu.Unlock()
		}
	}
}

// send sends messages to another member, and connects again after an error.
func (m *member) send(h *netsim.Host, address string, out <-chan *raftpb.Message) {
	for h.Context().Err() == nil {
		c, err := h.DialContext(h.Context(), "tcp", address)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for err == nil {
			select {
			case <-h.Context().Done():
				err = h.Context().Err()
			case message := <-out:
				c.SetWriteDeadline(time.Now().Add(time.Second))
				err = writeMessage(c, message)
			}
		}
		c.Close()
	}
}

func writeMessage(c net.Conn, message *raftpb.Message) error {
	b, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// accept receives the messages of other members.
func (m *member) accept(h *netsim.Host, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for {
				message, err := readMessage(c)
				if err != nil {
					return
				}
				if err := m.node.Step(h.Context(), message); errors.Is(err, raft.ErrStopped) {
					return
				}
			}
		}()
	}
}

func readMessage(c net.Conn) (*raftpb.Message, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	message := &raftpb.Message{}
	return message, proto.Unmarshal(b, message)
}
