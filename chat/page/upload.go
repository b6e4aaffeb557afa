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

// uploadTimeout limits the time to receive a file, regardless of the server's own timeouts.
const uploadTimeout = 15 * time.Minute

// filePolicy is the Content-Security-Policy of uploaded files: browsers may only display them.
const filePolicy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"

// serveUploads registers the handlers of uploads and files (docs/protocol.md, "Files").
func (p *Page) serveUploads() {
	p.mux.HandleFunc("OPTIONS /upload", p.uploadOptions)
	p.mux.HandleFunc("POST /upload", p.upload)
	p.mux.HandleFunc("PUT /upload/{name}", p.upload) // curl -T
	p.mux.HandleFunc("GET /file/{hash}/{name}", p.serveFile)
}

// allowUpload reports whether a request may upload: it comes from no page, a page of this host, or
// an origin in Config.Origins. The latter gets CORS headers.
func (p *Page) allowUpload(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if p.isAllowedOrigin(origin) {
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

// isAllowedOrigin reports whether Config.Origins contains an origin.
func (p *Page) isAllowedOrigin(origin string) bool {
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
	p.allowUpload(w, r)
	w.Header().Set("Allow", "OPTIONS, POST")
	w.Header().Set("Accept-Post", "*/*")
	w.WriteHeader(http.StatusNoContent)
}

// uploadError is an error response: a status and a sentence for users.
type uploadError struct {
	status     int
	text       string
	retryAfter int // Retry-After in seconds; 0 for none
}

// upload stores a file: the request's body.
func (p *Page) upload(w http.ResponseWriter, r *http.Request) {
	if !p.allowUpload(w, r) {
		writeError(w, uploadError{status: http.StatusForbidden, text: "Uploads from pages of other hosts are not allowed"})
		return
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		writeError(w, uploadError{status: http.StatusUnsupportedMediaType, text: "Send the file alone as the body, not a form"})
		return
	}
	account, err := p.authenticate(r)
	if err != nil {
		writeError(w, uploadErrorOf(err))
		return
	}
	shared, err := p.storeBody(w, r, account)
	if err != nil {
		writeError(w, uploadErrorOf(err))
		return
	}
	link, sure := p.fileLink(r, shared)
	w.Header().Set("Location", link.String())
	if !sure { // behind a proxy, the client knows the host better: send a relative reference
		w.Header().Set("Location", link.EscapedPath())
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, link.String()+"\n")
}

// authenticate returns the account that the request's credentials belong to.
func (p *Page) authenticate(r *http.Request) (account string, err error) {
	from := remoteAddr(r)
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return p.cfg.Service.AccountByToken(from, strings.TrimSpace(token))
	}
	if name, password, ok := r.BasicAuth(); ok {
		return p.cfg.Service.AccountByPassword(r.Context(), from, name, password)
	}
	return "", chat.ErrNotLoggedIn
}

// remoteAddr returns the address of a request's client.
func remoteAddr(r *http.Request) netip.Addr {
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	return addr.Addr().Unmap().WithZone("")
}

// errIncompleteBody means that a body ended early.
var errIncompleteBody = errors.New("the upload ended before the file was complete")

// storeBody writes the request's body to the disk as it arrives.
func (p *Page) storeBody(w http.ResponseWriter, r *http.Request, account string) (shared upload.Shared, err error) {
	u, err := p.cfg.Uploads.Begin(account, r.ContentLength)
	if err != nil {
		return shared, err
	}
	control := http.NewResponseController(w)
	late := time.AfterFunc(p.uploadTimeout, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
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

// onlyReader marks errors of reading the body, as opposed to errors of the disk.
type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(b []byte) (int, error) {
	n, err := o.r.Read(b)
	if err != nil && err != io.EOF {
		err = errors.Join(errIncompleteBody, err)
	}
	return n, err
}

type onlyWriter struct{ io.Writer }

// fileLink returns the URL of a file. sure reports whether the request used the host of the
// announced upload URL.
func (p *Page) fileLink(r *http.Request, shared upload.Shared) (fileLink *url.URL, sure bool) {
	base, err := url.Parse(p.cfg.Service.UploadURL())
	if sure = err == nil && base.Host == r.Host && base.Host != ""; !sure {
		base = &url.URL{Scheme: "http", Host: r.Host, Path: "/upload"}
		if r.TLS != nil {
			base.Scheme = "https"
		}
	}
	return base.ResolveReference(&url.URL{Path: "file/" + shared.Hash + "/" + shared.Name}), sure
}

// uploadErrorOf maps an error to an error response.
func uploadErrorOf(err error) uploadError {
	for _, c := range []struct {
		is     error
		status int
	}{
		{chat.ErrNotLoggedIn, http.StatusUnauthorized}, {chat.ErrBanned, http.StatusForbidden},
		{upload.ErrTooLarge, http.StatusRequestEntityTooLarge}, {upload.ErrQuota, http.StatusTooManyRequests}, {upload.ErrBusy, http.StatusTooManyRequests},
		{upload.ErrFull, http.StatusInsufficientStorage}, {upload.ErrRemoved, http.StatusForbidden}, {errIncompleteBody, http.StatusBadRequest},
		{context.Canceled, http.StatusBadRequest},
	} {
		if errors.Is(err, c.is) {
			return uploadError{status: c.status, text: publicMessage(err, c.is)}
		}
	}
	if e, ok := errors.AsType[*chat.ThrottledError](err); ok {
		return uploadError{http.StatusTooManyRequests, publicMessage(e, e), e.Seconds()}
	}
	return uploadError{status: http.StatusInternalServerError, text: "The file could not be stored"}
}

// publicMessage returns the part of an error that may be shown to users.
func publicMessage(err, is error) string {
	text := strings.TrimPrefix(is.Error(), "chat: ")
	if first, _, _ := strings.Cut(err.Error(), "\n"); strings.HasPrefix(first, text) && !strings.Contains(first, "/") {
		text = first
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// writeError sends an error response and closes the connection: the rest of the body is not read.
func writeError(w http.ResponseWriter, why uploadError) {
	h := w.Header()
	if why.status == http.StatusUnauthorized {
		// With Basic, browsers would store the password and send it in requests from other pages.
		h.Set("WWW-Authenticate", `Bearer realm="upload"`)
	}
	if why.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(why.retryAfter))
	}
	h.Set("Connection", "close")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(why.status)
	_, _ = io.WriteString(w, why.text+"\n")
}

// serveFile serves an uploaded file.
func (p *Page) serveFile(w http.ResponseWriter, r *http.Request) {
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
