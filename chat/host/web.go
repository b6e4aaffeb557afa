package host

import (
	"net/http"

	"weir/chat/page"
	"weir/web/server"
)

// openWeb opens the page and its listeners.
func (h *Host) openWeb(c *Config) (err error) {
	if len(c.Web.Listen) == 0 {
		return nil
	}
	if err := h.openUploads(c); err != nil {
		return err
	}
	h.page, err = page.New(page.Config{Service: h.chat, Uploads: h.uploads, OwnHost: h.ownName, Origins: c.Web.Origins, Drain: c.drain(), OnPanic: h.panicked, Meter: &h.pageMeter})
	if err != nil {
		return err
	}
	handler := h.site(c)
	for i, address := range c.Web.Listen {
		l, err := h.listen("web", "web.listen", address)
		if err != nil {
			return err
		}
		if i == 0 {
			if err := h.announceUploads(c, l.Addr()); err != nil {
				return err
			}
		}
		s, err := server.New(handler, server.Config{Listener: l, TLS: h.webTLS(c), DrainTimeout: c.drain(), TrustedProxies: c.Web.Proxies, MaxConnsPerClient: c.webEach(), ErrorLog: h.webError})
		if err != nil {
			l.Close()
			return err
		}
		h.web = append(h.web, s)
	}
	return nil
}

// site returns the handler of browsers' requests: the page at the root.
func (h *Host) site(c *Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", h.page)
	return mux
}

// webEach returns the limit on connections of browsers from one address: twice the limit of the
// chat, because a page loads files besides. Proxies have no such limit.
func (c *Config) webEach() int {
	if c.Limits.PerAddress == 0 {
		return 128
	}
	return 2 * c.Limits.PerAddress
}

func (h *Host) webError(line string) { h.log.Warn("web", "error", line) }
