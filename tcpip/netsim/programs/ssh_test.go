package programs

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weir/tcpip/netsim"
)

// An SSH client runs a command on a server.
func TestSSH(t *testing.T) {
	netsim.Run(t, netsim.Seeds(10), func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(server, client, netsim.Path{Delay: 10 * time.Millisecond, Loss: 0.05})
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			w.Fatal(err)
		}
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			w.Fatal(err)
		}
		server.Start(func(h *netsim.Host) error { return serveSSH(h, signer) })
		c, err := client.Dial("tcp", "server:22")
		if err != nil {
			w.Fatal(err)
		}
		config := &ssh.ClientConfig{User: "user", Auth: []ssh.AuthMethod{ssh.Password("secret")}, HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())}
		sc, channels, requests, err := ssh.NewClientConn(c, "server:22", config)
		if err != nil {
			w.Fatal(err)
		}
		s := ssh.NewClient(sc, channels, requests)
		defer s.Close()
		session, err := s.NewSession()
		if err != nil {
			w.Fatal(err)
		}
		if got, err := session.Output("uptime"); string(got) != "ran uptime" || err != nil {
			w.Errorf("got %q and error %v, want the output of the command", got, err)
		}
	})
}

// serveSSH runs the commands of one connection: it answers with their names.
func serveSSH(h *netsim.Host, key ssh.Signer) error {
	l, err := h.Listen("tcp", ":22")
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{PasswordCallback: func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
		if string(password) != "secret" {
			return nil, errors.New("wrong password")
		}
		return nil, nil
	}}
	config.AddHostKey(key)
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return err
		}
		for r := range requests {
			var command struct{ Text string }
			if err := ssh.Unmarshal(r.Payload, &command); err != nil {
				return err
			}
			r.Reply(true, nil)                                         //nolint:errcheck // the client notices
			channel.Write([]byte("ran " + command.Text))               //nolint:errcheck // as above
			channel.SendRequest("exit-status", false, make([]byte, 4)) //nolint:errcheck // as above
			channel.Close()
		}
	}
	return ignoreClosed(c.Close())
}

// ignoreClosed returns no error for a connection that is closed already.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
