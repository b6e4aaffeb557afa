package files

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"weir/web"
	"weir/web/components/internal/tag"
)

// mostListed is how many names a list has at most; it says when there are more.
const mostListed = 10_000

// line is an entry of a list.
type line struct {
	Name, Link string // a directory's name ends in a slash
	Size       string
	Time       time.Time
	dir        bool
}

// listing is what the page is made of.
type listing struct {
	Path  string
	Up    bool
	Lines []line
	More  int // names that are not shown
}

var page = template.Must(template.New("list").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Index of {{.Path}}</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 60rem }
h1 { font-size: 1.25rem; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid #8886; font-variant-numeric: tabular-nums }
th[scope=row] { font-weight: normal; overflow-wrap: anywhere }
.size { text-align: right; white-space: nowrap }
time { white-space: nowrap }
a:focus-visible { outline: 2px solid; outline-offset: 2px }
@media (max-width: 32rem) { .time { display: none } }
</style>
</head>
<body>
<main>
<h1>Index of {{.Path}}</h1>
<table>
<thead><tr><th scope="col">Name</th><th scope="col" class="size">Size</th><th scope="col" class="time">Changed (UTC)</th></tr></thead>
<tbody>
{{- if .Up}}
<tr><th scope="row"><a href="../">../<span> (up)</span></a></th><td class="size"></td><td class="time"></td></tr>
{{- end}}
{{- range .Lines}}
<tr><th scope="row"><a href="{{.Link}}">{{.Name}}</a></th><td class="size">{{.Size}}</td><td class="time"><time datetime="{{.Time.Format "2006-01-02T15:04:05Z"}}">{{.Time.Format "2006-01-02 15:04"}}</time></td></tr>
{{- end}}
</tbody>
</table>
{{- if .More}}
<p>{{.More}} more are not shown.</p>
{{- end}}
</main>
</body>
</html>
`))

var htmlType = web.NewField("Content-Type", "text/html; charset=utf-8")

// list answers with a page of what is in a directory.
func (f *files) list(c *web.Conn, clean string) web.Body {
	var entries []fs.DirEntry
	var lines []line
	err := f.root.use(func(dir *os.Root) (err error) {
		if entries, err = fs.ReadDir(dir.FS(), strings.ReplaceAll(rootName(clean), string(os.PathSeparator), "/")); err != nil {
			return err
		}
		lines = f.lines(dir, clean, entries[:min(len(entries), mostListed)])
		return nil
	})
	if err != nil {
		return f.failed(c, err)
	}
	l := listing{Path: clean, Up: clean != "/", Lines: lines, More: max(0, len(entries)-mostListed)}
	var b bytes.Buffer
	if err := page.Execute(&b, l); err != nil {
		return c.Fail(500, err)
	}
	c.SetField(htmlType)
	c.SetHeader("Etag", tag.Of(b.Bytes()))
	return web.Bytes(b.Bytes())
}

// lines are the entries that would be served, directories first, by name.
func (f *files) lines(dir *os.Root, clean string, entries []fs.DirEntry) []line {
	var lines []line
	for _, e := range entries {
		if _, ok := f.cleanPath(clean + e.Name()); !ok {
			continue
		}
		info, err := dir.Stat(rootName(clean + e.Name())) // follows links, but not out of dir
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		l := line{Name: e.Name(), Time: info.ModTime().UTC(), dir: info.IsDir()}
		if l.dir {
			l.Name += "/"
		} else {
			l.Size = size(info.Size())
		}
		l.Link = (&url.URL{Path: "./" + l.Name}).String()
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int {
		if a.dir != b.dir {
			if a.dir {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return lines
}

// size writes a number of bytes for people.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, units := float64(n)/1024, "KMGTPE"
	for v >= 1023.95 && len(units) > 1 {
		v, units = v/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", v, units[0])
}
