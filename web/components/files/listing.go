package files

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"weir/web"
	"weir/web/components/internal/page"
	"weir/web/components/internal/tag"
)

// maxListed is the largest number of names in a listing. The page states how many are missing.
const maxListed = 10_000

// row is one name of a listing.
type row struct {
	Name, Link string // the name of a directory ends in a slash
	Size       string // "" for a directory
	Time       time.Time

	bytes int64
	isDir bool
}

// listing is the content of a page. It needs no script: columns are sorted by links.
type listing struct {
	Path        string
	Breadcrumbs []breadcrumb
	Columns     []column
	Rows        []row
	Missing     int // names that are not shown
	Style       template.CSS
}

// breadcrumb is a directory on the way from the root to the listed one.
type breadcrumb struct {
	Name string
	Link string // relative; "": the listed directory itself
}

var listingPage = template.Must(template.New("listing").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Index of {{.Path}}</title>
<style>{{.Style}}nav ol { display: flex; flex-wrap: wrap; gap: .15rem .5rem; list-style: none; margin: 0; padding: 0 }
nav li { overflow-wrap: anywhere }
nav li + li::before { color: var(--soft); content: "/"; margin-right: .5rem }
table { background: var(--paper); border: 1px solid var(--edge); border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--edge); padding: .4rem .6rem; text-align: left; vertical-align: top }
thead th { color: var(--soft); font-size: .875rem; white-space: nowrap }
th[scope=row] { font-weight: normal; overflow-wrap: anywhere }
th a { display: inline-block }
.size { text-align: right; white-space: nowrap }
time { color: var(--soft); white-space: nowrap }
@media (hover: hover) { tbody tr:hover { background: var(--ground) } }
@media (max-width: 36rem) { th, td { padding: .4rem .35rem } time span, .note { display: none } }
</style>
</head>
<body>
<header>
<nav aria-label="Breadcrumb"><ol>
{{- range .Breadcrumbs}}
<li>{{if .Link}}<a href="{{.Link}}">{{.Name}}</a>{{else}}<span aria-current="page">{{.Name}}</span>{{end}}</li>
{{- end}}
</ol></nav>
<h1>Index of {{.Path}}</h1>
</header>
<main>
<table>
<thead><tr>
{{- range .Columns}}<th scope="col"{{if .Class}} class="{{.Class}}"{{end}}{{if .Sorted}} aria-sort="{{.Sorted}}"{{end}}><a href="{{.Link}}">{{.Title}}{{if .Note}}<span class="note"> {{.Note}}</span>{{end}}</a>{{if .Arrow}} <span aria-hidden="true">{{.Arrow}}</span>{{end}}</th>
{{- end}}</tr></thead>
<tbody>
{{- range .Rows}}
<tr><th scope="row"><a href="{{.Link}}">{{.Name}}</a></th><td class="size">{{.Size}}</td><td><time datetime="{{.Time.Format "2006-01-02T15:04:05Z"}}">{{.Time.Format "2006-01-02"}}<span> {{.Time.Format "15:04"}}</span></time></td></tr>
{{- else}}
<tr><td colspan="3">This folder is empty.</td></tr>
{{- end}}
</tbody>
</table>
{{- if .Missing}}
<p>{{.Missing}} more are not shown.</p>
{{- end}}
</main>
</body>
</html>
`))

var htmlType = web.NewField("Content-Type", "text/html; charset=utf-8")

// list answers with the listing of a directory.
func (f *files) list(c *web.Conn, clean string) (web.Body, error) {
	var entries []fs.DirEntry
	var rows []row
	err := f.root.use(func(dir *os.Root) (err error) {
		if entries, err = fs.ReadDir(dir.FS(), strings.ReplaceAll(rootName(clean), string(os.PathSeparator), "/")); err != nil {
			return err
		}
		rows = f.rows(dir, clean, entries[:min(len(entries), maxListed)])
		return nil
	})
	if err != nil {
		return web.Body{}, err
	}
	order := parseOrder(c.Query("sort"), c.Query("order"))
	order.sort(rows)
	l := listing{
		Path: clean, Breadcrumbs: breadcrumbs(clean), Columns: order.columns(), Rows: rows,
		Missing: max(0, len(entries)-maxListed), Style: page.Style,
	}
	var b bytes.Buffer
	if err := listingPage.Execute(&b, l); err != nil {
		return c.Fail(500, err), nil
	}
	c.SetField(htmlType)
	c.SetHeader("Etag", tag.Of(b.Bytes()))
	return web.Bytes(b.Bytes()), nil
}

// rows returns the entries that would be served.
func (f *files) rows(dir *os.Root, clean string, entries []fs.DirEntry) []row {
	var rows []row
	for _, e := range entries {
		if _, err := f.cleanPath(clean + e.Name()); err != nil {
			continue
		}
		info, err := dir.Stat(rootName(clean + e.Name())) // follows links, but not out of dir
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		r := row{Name: e.Name(), Time: info.ModTime().UTC(), isDir: info.IsDir()}
		if r.isDir {
			r.Name += "/"
		} else {
			r.bytes, r.Size = info.Size(), formatSize(info.Size())
		}
		r.Link = (&url.URL{Path: "./" + r.Name}).String()
		rows = append(rows, r)
	}
	return rows
}

// breadcrumbs returns the directories from the root to the one of this path, which ends in a slash.
// The links are relative, so that they work behind any prefix.
func breadcrumbs(clean string) []breadcrumb {
	names := strings.Split(strings.Trim(clean, "/"), "/")
	if clean == "/" {
		names = nil
	}
	crumbs := make([]breadcrumb, 0, len(names)+1)
	for i, name := range append([]string{"Start"}, names...) {
		crumb := breadcrumb{Name: name}
		if up := len(names) - i; up > 0 {
			crumb.Link = strings.Repeat("../", up)
		}
		crumbs = append(crumbs, crumb)
	}
	return crumbs
}

// formatSize formats a number of bytes with a binary unit.
func formatSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, units := float64(n)/1024, "KMGTPE"
	for v >= 1023.95 && len(units) > 1 {
		v, units = v/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", v, units[0])
}
