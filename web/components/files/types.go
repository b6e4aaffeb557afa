package files

import (
	"mime"
	"path"
	"strings"

	"weir/web"
)

// types are content types by extension, the same on every machine. Package mime has the others.
var contentTypes = map[string]web.Field{}

func init() {
	for kind, extensions := range map[string]string{
		"text/html; charset=utf-8":       ".html .htm",
		"text/css; charset=utf-8":        ".css",
		"text/javascript; charset=utf-8": ".js .mjs",
		"text/plain; charset=utf-8":      ".txt .text .log",
		"text/markdown; charset=utf-8":   ".md",
		"text/csv; charset=utf-8":        ".csv",
		"text/calendar; charset=utf-8":   ".ics",
		"text/vtt; charset=utf-8":        ".vtt",
		"application/json":               ".json .map",
		"application/manifest+json":      ".webmanifest",
		"application/feed+json":          ".jsonfeed",
		"application/xml":                ".xml",
		"application/xhtml+xml":          ".xhtml",
		"application/rss+xml":            ".rss",
		"application/atom+xml":           ".atom",
		"application/wasm":               ".wasm",
		"application/pdf":                ".pdf",
		"application/zip":                ".zip",
		"application/gzip":               ".gz .tgz",
		"application/zstd":               ".zst",
		"application/x-bzip2":            ".bz2",
		"application/x-xz":               ".xz",
		"application/x-tar":              ".tar",
		"application/epub+zip":           ".epub",
		"application/octet-stream":       ".bin .dat .iso .img",
		"image/svg+xml":                  ".svg",
		"image/png":                      ".png",
		"image/jpeg":                     ".jpg .jpeg",
		"image/gif":                      ".gif",
		"image/webp":                     ".webp",
		"image/avif":                     ".avif",
		"image/bmp":                      ".bmp",
		"image/x-icon":                   ".ico",
		"font/woff":                      ".woff",
		"font/woff2":                     ".woff2",
		"font/ttf":                       ".ttf",
		"font/otf":                       ".otf",
		"audio/mpeg":                     ".mp3",
		"audio/ogg":                      ".ogg .oga .opus",
		"audio/wav":                      ".wav",
		"audio/flac":                     ".flac",
		"audio/mp4":                      ".m4a",
		"video/mp4":                      ".mp4 .m4v",
		"video/webm":                     ".webm",
		"video/ogg":                      ".ogv",
		"video/quicktime":                ".mov",
	} {
		field := web.NewField("Content-Type", kind)
		for extension := range strings.FieldsSeq(extensions) {
			contentTypes[extension] = field
		}
	}
}

// contentType returns the Content-Type of a file by its name. An unknown extension is
// application/octet-stream: detection by content could turn an uploaded file into a page.
func contentType(name string) web.Field {
	extension := strings.ToLower(path.Ext(name))
	if field, ok := contentTypes[extension]; ok {
		return field
	}
	if kind := mime.TypeByExtension(extension); kind != "" {
		return web.NewField("Content-Type", kind)
	}
	return contentTypes[".bin"]
}
