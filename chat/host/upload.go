package host

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"weir/chat/upload"
)

// Upload configures shared files. They are uploaded and downloaded by the page's server, so they
// need a page.
type Upload struct {
	// uploads and downloads are off. Default no
	Off bool `toml:"off"`
	// URL that clients upload to: the page's address as they reach it, and /upload. Default: the
	// first of web.listen, or the server's name where that is every address
	URL      string `toml:"url"`
	MaxBytes Size   `toml:"max_bytes"` // size limit of a file, 1 KiB to 4 GiB. Default 25 MiB
	// bytes that an account may upload in 24 hours, 1 KiB and up. Default 250 MiB
	PerDay Size `toml:"per_day"`
	// files that an account may upload in 24 hours, 1 to 100,000. Default 200
	FilesPerDay int `toml:"files_per_day"`
	// size limit of all files together, 1 MiB and up; beyond it uploads are rejected. Default 10
	// GiB
	Total Size `toml:"total"`
	// time that a file stays after its last upload, 1 h to 100 years. Default for ever
	Keep Duration `toml:"keep"`
}

func (u *Upload) check(k *checker) {
	if at, err := url.Parse(u.URL); u.URL != "" && (err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" ||
		!strings.HasSuffix(at.Path, "/upload") || strings.ContainsAny(u.URL, " \r\n?#") || len(u.URL) > 128) {
		k.addProblem("upload.url", "%q is not a URL for uploads: write one such as https://chat.example.org/upload", u.URL)
	}
	for _, z := range []struct {
		key         string
		size, least Size
	}{{"upload.max_bytes", u.MaxBytes, 1 << 10}, {"upload.per_day", u.PerDay, 1 << 10}, {"upload.total", u.Total, 1 << 20}} {
		if z.size != 0 && z.size < z.least {
			text, _ := z.least.MarshalText()
			k.addProblem(z.key, "%d bytes are less than %s: write a larger size, or leave it out for the default", z.size, text)
		}
	}
	if u.MaxBytes > 4<<30 {
		k.addProblem("upload.max_bytes", "%d bytes are more than 4 GiB: write a smaller size", u.MaxBytes)
	}
	k.inRange("upload.files_per_day", u.FilesPerDay, 1, 100_000)
	k.durationInRange("upload.keep", u.Keep, time.Hour, maxDuration)
}

func (u *Upload) options() upload.Options {
	return upload.Options{MaxBytes: int64(u.MaxBytes), DayBytes: int64(u.PerDay), DayFiles: u.FilesPerDay, MaxTotal: int64(u.Total), MaxAge: u.Keep.Std()}
}

// openUploads opens the store of uploaded files.
func (h *Host) openUploads(c *Config) (err error) {
	if !c.Upload.Off {
		h.uploads, err = upload.Open(c.Data, c.Upload.options())
	}
	return err
}

// announceUploads announces the upload URL to clients.
func (h *Host) announceUploads(c *Config, page net.Addr) error {
	h.uploadURL = c.defaultURL(page)
	options, err := c.options()
	if err == nil {
		options.UploadURL = h.uploadURLOf(c)
		_, err = h.chat.Configure(options)
	}
	return err
}

// uploadURLOf returns the URL for uploads; "": none.
func (h *Host) uploadURLOf(c *Config) string {
	switch {
	case h.uploads == nil || h.page == nil:
		return ""
	case c.Upload.URL != "":
		return c.Upload.URL
	}
	return h.uploadURL
}

// defaultURL returns the upload URL at the page's address. If the page listens on all addresses, it
// uses the name of the server or of this machine.
func (c *Config) defaultURL(page net.Addr) string {
	host, port, err := net.SplitHostPort(page.String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = append(c.names(), "localhost")[0]
	}
	scheme, usual := "http", "80"
	if c.TLS.Web {
		scheme, usual = "https", "443"
	}
	return scheme + "://" + strings.TrimSuffix(net.JoinHostPort(host, port), ":"+usual) + "/upload"
}

// sweepEvery is the interval of removing old files.
const sweepEvery = 10 * time.Minute

// sweepUploads removes old files until ctx ends.
func (h *Host) sweepUploads(ctx context.Context) {
	if h.uploads != nil {
		h.uploads.Run(ctx, sweepEvery, func(err error) { h.log.Error("old uploads could not be removed", "error", err) })
	}
}
