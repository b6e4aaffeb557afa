package host

import (
	"net/http"

	"weir/chat/front"
	"weir/chat/page"
	"weir/web/server"
)

// openWeb makes the page and listens for browsers.
func (h *Host) openWeb(c *Config) (err error) {
	if len(c.Web.Listen) == 0 {
		return nil
	}
	if err := h.openUploads(c); err != nil {
		return err
	}
	h.page, err = page.New(page.Config{Service: h.chat, Uploads: h.uploads, OwnHost: h.ownName, Origins: c.Web.Origins, Drain: c.drain(), Panicked: h.panicked, Meter: &h.pageMeter})
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
			if err := h.tellUploads(c, l.Addr()); err != nil {
				return err
			}
		}
		s, err := server.New(handler, server.Config{Listener: l, TLS: h.webTLS(c), Drain: c.drain(), ErrorLog: h.webError})
		if err != nil {
			l.Close()
			return err
		}
		h.web = append(h.web, s)
	}
	return nil
}

// site is what browsers find: the page at the root, and what else is served.
func (h *Host) site(c *Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", h.page)
	proxies, _ := front.ParseProxies(c.Web.Proxies) // Check has seen them
	return proxies.Forwarded(mux)
}

func (h *Host) webError(line string) { h.log.Warn("web", "error", line) }
