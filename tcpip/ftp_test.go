package tcpip

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jlaffaye/ftp"

	"weir/tcpip/link"
)

// ftpServer is a part of an FTP server (RFC 959, RFC 2428), enough for a client that stores and
// fetches files. It has one session at a time.
type ftpServer struct {
	s     *Stack
	files map[string][]byte
}

func (f *ftpServer) serve(l net.Listener) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	control, from := textproto.NewConn(conn), 0
	var data net.Listener                                       // announced to the client
	say := func(line string) { control.PrintfLine("%s", line) } //nolint:errcheck // the next read tells
	say("220 ready")
	for {
		line, err := control.ReadLine()
		if err != nil {
			return err
		}
		command, argument, _ := strings.Cut(line, " ")
		switch command {
		case "QUIT":
			say("221 bye")
			return nil
		case "EPSV":
			if data, err = f.s.Listen("tcp", "10.0.0.2:0"); err != nil {
				return err
			}
			say(fmt.Sprintf("229 here (|||%d|)", data.Addr().(*net.TCPAddr).Port))
		case "REST":
			from, _ = strconv.Atoi(argument)
			say("350 from there")
		case "STOR", "RETR", "NLST":
			say(f.transfer(data, command, argument, from, say))
			from = 0
		default:
			say(f.answer(command, argument))
		}
	}
}

// answer answers commands without data.
func (f *ftpServer) answer(command, argument string) string {
	file, ok := f.files[argument]
	switch {
	case command == "USER":
		return "331 who says so?"
	case command == "PASS":
		return "230 welcome"
	case command == "TYPE":
		return "200 fine"
	case command == "SIZE" && ok:
		return fmt.Sprintf("213 %d", len(file))
	case command == "DELE" && ok:
		delete(f.files, argument)
		return "250 gone"
	case command == "SIZE" || command == "DELE":
		return "550 no such file"
	}
	return "502 no"
}

// transfer sends or receives a file or a listing over a data connection.
func (f *ftpServer) transfer(l net.Listener, command, name string, from int, say func(string)) string {
	defer l.Close()
	file, ok := f.files[name]
	if command == "RETR" && !ok {
		return "550 no such file"
	}
	say("150 look")
	c, err := l.Accept()
	if err != nil {
		return "425 no connection"
	}
	defer c.Close()
	switch command {
	case "STOR":
		f.files[name], err = io.ReadAll(c)
	case "RETR":
		_, err = c.Write(file[from:])
	case "NLST":
		_, err = io.WriteString(c, strings.Join(slices.Sorted(maps.Keys(f.files)), "\r\n")+"\r\n")
	}
	if err != nil {
		return "426 broken"
	}
	return "226 done"
}

func TestFTPRunsOnTheStack(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	server := &ftpServer{b, map[string][]byte{"there": []byte("was there")}}
	l := listen(t, b, ":21")
	done := make(chan error, 1) // the server's end
	go func() { done <- server.serve(l) }()
	c, err := ftp.Dial("10.0.0.2:21", ftp.DialWithDialFunc(a.Dial))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Login("ann", "secret"); err != nil {
		t.Fatal(err)
	}
	file := make([]byte, 3_000_000)
	rand.NewChaCha8([32]byte{1}).Read(file)
	if err := c.Stor("large", bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if names, err := c.NameList(""); err != nil || !slices.Equal(names, []string{"large", "there"}) {
		t.Errorf("the list of files: got %q, error %v; want large and there", names, err)
	}
	if size, err := c.FileSize("large"); err != nil || size != int64(len(file)) {
		t.Errorf("the size of the stored file: got %d bytes, error %v; want %d", size, err, len(file))
	}
	for _, from := range []int{0, 1_000_000} {
		r, err := c.RetrFrom("large", uint64(from))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, file[from:]) {
			t.Errorf("the file from byte %d on: got %d bytes, error %v; want %d", from, len(got), err, len(file)-from)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Delete("large"); err != nil {
		t.Error(err)
	}
	if _, err := c.Retr("large"); err == nil {
		t.Error("fetching a deleted file succeeded, want an error")
	}
	if err := c.Quit(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
