package wsload

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 requires it
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxHead is the largest size in bytes of the answer to an upgrade.
const maxHead = 16 << 10

// guid is what a server appends to the key (RFC 6455, section 1.3).
const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// newKey returns the key of an upgrade, and what the server must answer to it.
func newKey() (key, accept string) {
	var random [16]byte
	rand.Read(random[:]) //nolint:errcheck // never fails
	key = base64.StdEncoding.EncodeToString(random[:])
	return key, acceptOf(key)
}

func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + guid)) //nolint:gosec // RFC 6455 requires it
	return base64.StdEncoding.EncodeToString(sum[:])
}

// upgrade returns the request that opens a connection (RFC 6455, section 4.1). c must be valid.
func (c Config) upgrade(key string) []byte {
	u, err := c.parseURL()
	if err != nil {
		return nil
	}
	var fields strings.Builder
	host := u.Host
	for _, given := range c.Headers {
		name, value, _ := strings.Cut(given, ":")
		if value = strings.Trim(value, " \t"); strings.EqualFold(name, "host") {
			host = value
			continue
		}
		fields.WriteString(name + ": " + value + "\r\n")
	}
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
		u.RequestURI(), host, key, fields.String())
}

// headEnd ends the head of an answer.
var headEnd = []byte("\r\n\r\n")

// checkUpgrade checks the answer to an upgrade, a complete head (RFC 6455, section 4.1).
func checkUpgrade(head []byte, accept string) error {
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodGet})
	if err != nil {
		return fmt.Errorf("its answer is not HTTP: %w", err)
	}
	r.Body.Close() //nolint:errcheck // it has none
	switch h := r.Header; {
	case r.StatusCode != http.StatusSwitchingProtocols:
		return fmt.Errorf("its answer has the status %d and not 101: correct the path, or the fields that the server wants by --header", r.StatusCode)
	case !strings.EqualFold(h.Get("Upgrade"), "websocket") || !hasToken(h.Values("Connection"), "upgrade"):
		return errors.New("its answer switches to another protocol")
	case h.Get("Sec-WebSocket-Accept") != accept:
		return errors.New("its Sec-WebSocket-Accept is not that of the key")
	case h.Get("Sec-WebSocket-Extensions") != "":
		return errors.New("it chose an extension that was not offered")
	}
	return nil
}

// hasToken reports whether a list of a field has the token, which is in lower case.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if strings.ToLower(strings.TrimSpace(part)) == token {
				return true
			}
		}
	}
	return false
}
