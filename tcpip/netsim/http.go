package netsim

import (
	"net/http"
	"time"
)

// Transport returns a new transport whose connections are the host's, with the settings of
// http.DefaultTransport, but without a proxy.
func (h *Host) Transport() *http.Transport {
	return &http.Transport{DialContext: h.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 100,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second}
}

// HTTP returns a new client with a new Transport. Like http.DefaultClient it has no timeout.
func (h *Host) HTTP() *http.Client { return &http.Client{Transport: h.Transport()} }
