package page

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"weir/chat"
	"weir/chat/upload"
)

// uploadWithin is how long a file may take to come, whatever the server's own limits are.
const uploadWithin = 15 * time.Minute

// filePolicy is what a browser may do with a file that somebody uploaded: show it.
const filePolicy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"

// serveUploads has the page take files and give them back (docs/protocol.md, "Files").
func (p *Page) serveUploads() {
	p.mux.HandleFunc("OPTIONS /upload", p.uploadOptions)
	p.mux.HandleFunc("POST /upload", p.upload)
	p.mux.HandleFunc("PUT /upload/{name}", p.upload) // curl -T
	p.mux.HandleFunc("GET /file/{hash}/{name}", p.file)
}

// mayUpload says whether a request does not come from another host's page, unless that is one of
// Config.Origins, which is told so.
func (p *Page) mayUpload(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if p.trusts(origin) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Methods", "OPTIONS, POST, PUT")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Disposition, Content-Type")
		h.Set("Access-Control-Expose-Headers", "Location")
		h.Add("Vary", "Origin")
		return true
	}
	return http.NewCrossOriginProtection().Check(r) == nil
}

// trusts says whether Config.Origins has an origin.
func (p *Page) trusts(origin string) bool {
	u, err := url.Parse(strings.ToLower(origin))
	if err != nil || u.Host == "" {
		return false
	}
	for _, pattern := range *p.origins.Load() {
		text := u.Host
		if strings.Contains(pattern, "://") {
			text = u.Scheme + "://" + u.Host
		}
		if fits, err := path.Match(strings.ToLower(pattern), text); err == nil && fits {
			return true
		}
	}
	return false
}

func (p *Page) uploadOptions(w http.ResponseWriter, r *http.Request) {
	p.mayUpload(w, r)
	w.Header().Set("Allow", "OPTIONS, POST")
	w.Header().Set("Accept-Post", "*/*")
	w.WriteHeader(http.StatusNoContent)
}

// refusal is a status, and a sentence for whoever reads it.
type refusal struct {
	status int
	text   string
	wait   int // seconds after which it may be tried again; 0: not said
}

// upload takes a file: the request's body.
func (p *Page) upload(w http.ResponseWriter, r *http.Request) {
	if !p.mayUpload(w, r) {
		refuse(w, refusal{status: http.StatusForbidden, text: "This comes from a page of another host"})
		return
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		refuse(w, refusal{status: http.StatusUnsupportedMediaType, text: "Send the file alone as the body, not a form"})
		return
	}
	account, err := p.uploader(r)
	if err != nil {
		refuse(w, refusalOf(err))
		return
	}
	shared, err := p.take(w, r, account)
	if err != nil {
		refuse(w, refusalOf(err))
		return
	}
	link, sure := p.link(r, shared)
	w.Header().Set("Location", link.String())
	if !sure { // perhaps there is a proxy before us: who asks knows better by which way he came
		w.Header().Set("Location", link.EscapedPath())
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, link.String()+"\n")
}

// uploader is the account that a request proves to be of.
func (p *Page) uploader(r *http.Request) (account string, err error) {
	from := addrOf(r)
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return p.cfg.Service.AccountByToken(from, strings.TrimSpace(token))
	}
	if name, password, ok := r.BasicAuth(); ok {
		return p.cfg.Service.AccountByPassword(r.Context(), from, name, password)
	}
	return "", chat.ErrNotLoggedIn
}

// addrOf is the address that a request comes from.
func addrOf(r *http.Request) netip.Addr {
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	return addr.Addr().Unmap().WithZone("")
}

// errBroken means that a body did not come to its end.
var errBroken = errors.New("the file did not come to its end")

// take writes a request's body to the disk as it comes.
func (p *Page) take(w http.ResponseWriter, r *http.Request, account string) (shared upload.Shared, err error) {
	u, err := p.cfg.Uploads.Begin(account, r.ContentLength)
	if err != nil {
		return shared, err
	}
	control := http.NewResponseController(w)
	late := time.AfterFunc(p.uploadWithin, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	if _, err := io.Copy(onlyWriter{u}, onlyReader{r.Body}); err != nil {
		return shared, errors.Join(err, u.Abort())
	}
	name := r.PathValue("name")
	if name == "" {
		name = upload.NameFrom(r.Header.Get("Content-Disposition"))
	}
	return u.Commit(name)
}

// onlyReader tells errors of a body from those of the disk.
type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(b []byte) (int, error) {
	n, err := o.r.Read(b)
	if err != nil && err != io.EOF {
		err = errors.Join(errBroken, err)
	}
	return n, err
}

type onlyWriter struct{ io.Writer }

// link is where a file is. It is not sure if the request came by another way than that which
// clients are told.
func (p *Page) link(r *http.Request, shared upload.Shared) (link *url.URL, sure bool) {
	base, err := url.Parse(p.cfg.Service.UploadURL())
	if sure = err == nil && base.Host == r.Host && base.Host != ""; !sure {
		base = &url.URL{Scheme: "http", Host: r.Host, Path: "/upload"}
		if r.TLS != nil {
			base.Scheme = "https"
		}
	}
	return base.ResolveReference(&url.URL{Path: "file/" + shared.Hash + "/" + shared.Name}), sure
}

// refusalOf is what is answered to an error.
func refusalOf(err error) refusal {
	for _, c := range []struct {
		is     error
		status int
	}{
		{chat.ErrNotLoggedIn, http.StatusUnauthorized}, {chat.ErrBanned, http.StatusForbidden},
		{upload.ErrTooLarge, http.StatusRequestEntityTooLarge}, {upload.ErrQuota, http.StatusTooManyRequests}, {upload.ErrBusy, http.StatusTooManyRequests},
		{upload.ErrFull, http.StatusInsufficientStorage}, {upload.ErrRemoved, http.StatusForbidden}, {errBroken, http.StatusBadRequest},
		{context.Canceled, http.StatusBadRequest},
	} {
		if errors.Is(err, c.is) {
			return refusal{status: c.status, text: sentence(err, c.is)}
		}
	}
	if e, ok := errors.AsType[*chat.ThrottledError](err); ok {
		return refusal{http.StatusTooManyRequests, sentence(e, e), e.Seconds()}
	}
	return refusal{status: http.StatusInternalServerError, text: "The file could not be stored"}
}

// sentence is what may be told of an error: for one of the store's, with its limits.
func sentence(err, is error) string {
	text := strings.TrimPrefix(is.Error(), "chat: ")
	if first, _, _ := strings.Cut(err.Error(), "\n"); strings.HasPrefix(first, text) && !strings.Contains(first, "/") {
		text = first
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// refuse answers a request that is not granted. What is left of its body is not waited for.
func refuse(w http.ResponseWriter, why refusal) {
	h := w.Header()
	if why.status == http.StatusUnauthorized {
		// not Basic: browsers would remember a password, and send it for pages of others
		h.Set("WWW-Authenticate", `Bearer realm="upload"`)
	}
	if why.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(why.wait))
	}
	h.Set("Connection", "close")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(why.status)
	_, _ = io.WriteString(w, why.text+"\n")
}

// file gives a file to who has its link.
func (p *Page) file(w http.ResponseWriter, r *http.Request) {
	c, err := p.cfg.Uploads.Open(r.PathValue("hash"), r.PathValue("name"))
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, upload.ErrNotFound) {
			status = http.StatusNotFound
		}
		http.Error(w, "There is no such file", status)
		return
	}
	defer c.Close()
	h := w.Header()
	h.Set("Content-Type", c.Type)
	h.Set("Content-Disposition", c.Disposition)
	h.Set("Content-Security-Policy", filePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "private, max-age=604800, immutable")
	h.Set("ETag", `"`+r.PathValue("hash")+`"`)
	http.ServeContent(w, r, "", c.Modified, c)
}
