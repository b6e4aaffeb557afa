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

// A server that runs is asked to change rooms by HTTP on a socket in its data directory, which its
// user alone can reach:
//
//	GET /room?name=%23a       a Live as JSON
//	POST /room?name=%23a      a chat.RoomChange as JSON
//	DELETE /room?name=%23a
//
// The answer to a change is 204, or a text that says why not.
const controlName = "control"

// openControl listens on the socket. A server that cannot have it runs without.
func (h *Host) openControl(c *Config) error {
	path := filepath.Join(c.Data, controlName)
	_ = os.Remove(path) // of a server that was killed: we have the data directory
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false) // the next server may have its own there by then
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		h.log.Warn("rooms cannot be changed from the shell while the server runs", "error", err)
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /room", h.tellRoom)
	mux.HandleFunc("POST /room", h.changeRoom)
	mux.HandleFunc("DELETE /room", h.deleteRoom)
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	h.control, h.controlled = server, make(chan error, 1)
	go func() { h.controlled <- server.Serve(l) }() // until closeControl
	return nil
}

// closeControl ends the socket's server, when what was asked for is done.
func (h *Host) closeControl() error {
	if h.control == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), h.Config().drain())
	defer stop()
	err := h.control.Shutdown(ctx)
	if err != nil {
		_ = h.control.Close()
	}
	h.control = nil
	<-h.controlled
	return err
}

// Live is what only a server that runs knows of a room.
type Live struct {
	Members   []chat.Member `json:"members"`    // who is in it
	KeptFor   Duration      `json:"kept_for"`   // how long its messages are kept; 0: for ever
	KeptBytes Size          `json:"kept_bytes"` // how many bytes of them; 0: all
}

func (h *Host) tellRoom(w http.ResponseWriter, r *http.Request) {
	keep := h.Config().Retention
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Live{Members: h.chat.Members(r.URL.Query().Get("name")), KeptFor: keep.RoomAge, KeptBytes: keep.RoomBytes})
}

// maxChange is the longest change of a room, in bytes.
const maxChange = 64 << 10

func (h *Host) changeRoom(w http.ResponseWriter, r *http.Request) {
	var c chat.RoomChange
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChange)).Decode(&c); err != nil {
		http.Error(w, "the change is not as it should be: "+err.Error(), http.StatusBadRequest)
		return
	}
	name := r.URL.Query().Get("name")
	h.answer(w, "changed", name, h.chat.ChangeRoom(name, c))
}

func (h *Host) deleteRoom(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	h.answer(w, "deleted", name, h.chat.DeleteRoom(name))
}

func (h *Host) answer(w http.ResponseWriter, done, room string, err error) {
	switch {
	case err == nil:
		h.log.Info("an administrator has "+done+" a room", "room", room)
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, chat.ErrNoRoom), errors.Is(err, chat.ErrInvalidChange):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		h.log.Error("an administrator could not have a room "+done, "room", room, "error", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Admin changes the rooms of a data directory: by the server that runs on it, or itself where none
// does. It is used by one goroutine.
type Admin struct {
	client  *http.Client  // nil: no server runs
	service *chat.Service // nil: one does
}

// Runs says whether a server runs on a data directory that can be asked about rooms.
func Runs(dir string) bool {
	conn, err := net.Dial("unix", filepath.Join(dir, controlName))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// OpenAdmin finds out who changes the rooms of a data directory, which has to be there. Who calls
// it calls Close.
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

// Close ends it.
func (a *Admin) Close() error {
	if a.service == nil {
		return nil
	}
	return a.service.Close()
}

// Running says whether a server does it.
func (a *Admin) Running() bool { return a.service == nil }

// Live is what the server that runs knows of a room, nil when none does.
func (a *Admin) Live(ctx context.Context, name string) (*Live, error) {
	if a.service != nil {
		return nil, nil
	}
	var live Live
	return &live, a.ask(ctx, http.MethodGet, name, "", &live)
}

// ChangeRoom is [chat.Service.ChangeRoom].
func (a *Admin) ChangeRoom(ctx context.Context, name string, c chat.RoomChange) error {
	if a.service != nil {
		return a.service.ChangeRoom(name, c)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return a.ask(ctx, http.MethodPost, name, string(body), nil)
}

// DeleteRoom is [chat.Service.DeleteRoom].
func (a *Admin) DeleteRoom(ctx context.Context, name string) error {
	if a.service != nil {
		return a.service.DeleteRoom(name)
	}
	return a.ask(ctx, http.MethodDelete, name, "", nil)
}

// ask has the server that runs do something to a room. What it tells goes into answer.
func (a *Admin) ask(ctx context.Context, method, name, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://weir/room", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.URL.RawQuery = url.Values{"name": {name}}.Encode()
	resp, err := a.client.Do(r)
	if err != nil {
		return fmt.Errorf("the server that runs does not answer: %w", err)
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
