package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/chat"
)

// The control socket is an HTTP server on a Unix socket in the data directory, which only the
// server's user can open. By it the shell changes rooms of a running server:
//
//	GET /room?name=%23a       returns a Live as JSON
//	POST /room?name=%23a      with a chat.RoomChange as JSON
//	DELETE /room?name=%23a
//
// The response to a change is 204, or an error text.
const controlName = "control"

// openControl listens on the control socket. Without the socket the server runs all the same.
func (h *Host) openControl(c *Config) error {
	path := filepath.Join(c.Data, controlName)
	_ = os.Remove(path) // left by a killed server: this one has the lock of the data directory
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false) // by then the next server may have its own socket there
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		h.log.Warn("no control socket: the shell cannot change rooms while the server runs", "error", err)
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /room", h.getRoom)
	mux.HandleFunc("POST /room", h.changeRoom)
	mux.HandleFunc("DELETE /room", h.deleteRoom)
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	h.controlServer, h.controlDone = server, make(chan error, 1)
	go func() { h.controlDone <- server.Serve(l) }() // until closeControl
	return nil
}

// closeControl stops the control socket after its current requests.
func (h *Host) closeControl() error {
	if h.controlServer == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), h.Config().drain())
	defer stop()
	err := h.controlServer.Shutdown(ctx)
	if err != nil {
		_ = h.controlServer.Close()
	}
	h.controlServer = nil
	<-h.controlDone
	return err
}

// Live is the state of a room that only a running server has.
type Live struct {
	Members   []chat.Member `json:"members"`    // members of the room
	KeptFor   Duration      `json:"kept_for"`   // age limit of its messages; 0: none
	KeptBytes Size          `json:"kept_bytes"` // size limit of its log; 0: none
}

func (h *Host) getRoom(w http.ResponseWriter, r *http.Request) {
	keep := h.Config().Retention
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Live{Members: h.chat.Members(r.URL.Query().Get("name")), KeptFor: keep.RoomAge, KeptBytes: keep.RoomBytes})
}

// maxChange is the size limit of a POST, in bytes.
const maxChange = 64 << 10

func (h *Host) changeRoom(w http.ResponseWriter, r *http.Request) {
	var c chat.RoomChange
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChange)).Decode(&c); err != nil {
		http.Error(w, "the change is invalid: "+err.Error(), http.StatusBadRequest)
		return
	}
	name := r.URL.Query().Get("name")
	h.replyToChange(w, "changed", name, h.chat.ChangeRoom(name, c))
}

func (h *Host) deleteRoom(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	h.replyToChange(w, "deleted", name, h.chat.DeleteRoom(name))
}

func (h *Host) replyToChange(w http.ResponseWriter, done, room string, err error) {
	switch {
	case err == nil:
		h.log.Info("an administrator has "+done+" a room", "room", room)
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, chat.ErrNoRoom), errors.Is(err, chat.ErrInvalidChange):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		h.log.Error("a room could not be "+done, "room", room, "error", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Admin changes the rooms of a data directory: through the running server, or directly if none
// runs. It is not safe for concurrent use.
type Admin struct {
	client  *http.Client  // nil: no server runs
	service *chat.Service // nil: a server runs
}

// Runs reports whether a server runs on a data directory and has a control socket.
func Runs(dir string) bool {
	conn, err := net.Dial("unix", filepath.Join(dir, controlName))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// OpenAdmin connects to the server of a data directory, which must exist. If no server runs, it
// opens the directory itself. The caller calls Close.
func OpenAdmin(dir string) (*Admin, error) {
	path := filepath.Join(dir, controlName)
	if Runs(dir) {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return &Admin{client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Minute}}, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	service, err := chat.Open(dir, chat.Options{NoSearch: true})
	if err != nil {
		return nil, err
	}
	return &Admin{service: service}, nil
}

// Close closes the data directory if it is open.
func (a *Admin) Close() error {
	if a.service == nil {
		return nil
	}
	return a.service.Close()
}

// Running reports whether a server runs.
func (a *Admin) Running() bool { return a.service == nil }

// Live returns the state of a room in the running server, nil if none runs.
func (a *Admin) Live(ctx context.Context, name string) (*Live, error) {
	if a.service != nil {
		return nil, nil
	}
	var live Live
	return &live, a.request(ctx, http.MethodGet, name, "", &live)
}

// ChangeRoom changes a room: see [chat.Service.ChangeRoom].
func (a *Admin) ChangeRoom(ctx context.Context, name string, c chat.RoomChange) error {
	if a.service != nil {
		return a.service.ChangeRoom(name, c)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return a.request(ctx, http.MethodPost, name, string(body), nil)
}

// DeleteRoom deletes a room: see [chat.Service.DeleteRoom].
func (a *Admin) DeleteRoom(ctx context.Context, name string) error {
	if a.service != nil {
		return a.service.DeleteRoom(name)
	}
	return a.request(ctx, http.MethodDelete, name, "", nil)
}

// request sends a request to the running server. It decodes the response to answer.
func (a *Admin) request(ctx context.Context, method, name, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://weir/room", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.URL.RawQuery = url.Values{"name": {name}}.Encode()
	resp, err := a.client.Do(r)
	if err != nil {
		return fmt.Errorf("the running server does not answer: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusOK:
		return json.NewDecoder(resp.Body).Decode(answer)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	return errors.New(strings.TrimSpace(string(text)))
}
