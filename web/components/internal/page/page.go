// Package page makes the pages that the server itself writes, in one style: error pages, and the
// frame of directory listings.
//
// The pages are complete HTML documents with their style inline. They need no script and no request
// to another address. They follow the browser's choice of light or dark colours, and fit a width of
// 320 pixels.
//
// # Limitations
//
// The texts are in English.
package page

import (
	"bytes"
	"html/template"
	"net/http"
)

// Style is the content of the pages' style element. Its colours are those of the admin page.
const Style = template.CSS(`
:root { color-scheme: light dark; --ground: #fafaf7; --paper: #fff; --ink: #1c2126; --soft: #5b6670; --edge: #d5dbe0; --accent: #0b6e8f }
@media (prefers-color-scheme: dark) {
:root { --ground: #14181c; --paper: #1e252b; --ink: #e8edf1; --soft: #a3b0bb; --edge: #36414a; --accent: #58b8d8 }
}
* { box-sizing: border-box }
html { background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums }
body { margin: 0 auto; padding: 1rem; max-width: 60rem }
h1 { font-size: 1.4rem; line-height: 1.25; margin: .5rem 0 1rem; overflow-wrap: anywhere }
a { color: var(--accent); text-underline-offset: .15em }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px }
`)

var errorPage = template.Must(template.New("error").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{.Status}} {{.Reason}}</title>
<style>{{.Style}}body { max-width: 36rem; padding-top: 12vh }
h1 span { color: var(--soft); display: block; font-size: 3.5rem; font-weight: 300; line-height: 1; margin-bottom: .5rem }
</style>
</head>
<body>
<main>
<h1><span>{{.Status}} </span>{{.Reason}}</h1>
{{- if .Text}}
<p>{{.Text}}</p>
{{- end}}
<p><a href="/">Go to the start page</a></p>
</main>
</body>
</html>
`))

// texts say what a visitor can do about a status.
var texts = map[int]string{
	http.StatusBadRequest:            "The server could not understand this request.",
	http.StatusUnauthorized:          "This page needs a user name and a password.",
	http.StatusForbidden:             "You are not allowed to see this page.",
	http.StatusNotFound:              "There is no page at this address. It may have been moved, or the address may be mistyped.",
	http.StatusMethodNotAllowed:      "This address does not accept this kind of request.",
	http.StatusGone:                  "This page has been removed.",
	http.StatusRequestEntityTooLarge: "What you sent is larger than the server accepts.",
	http.StatusTooManyRequests:       "You have sent many requests in a short time. Wait a moment, then try again.",
	http.StatusInternalServerError:   "The server failed to make this page. Try again later.",
	http.StatusBadGateway:            "The server behind this one did not give a valid answer. Try again later.",
	http.StatusServiceUnavailable:    "The server is busy. Wait a moment, then try again.",
	http.StatusGatewayTimeout:        "The server behind this one took too long to answer. Try again later.",
}

// Error returns the page of an error status: 400 to 599.
func Error(status int) []byte {
	data := struct {
		Status       int
		Reason, Text string
		Style        template.CSS
	}{status, http.StatusText(status), texts[status], Style}
	var b bytes.Buffer
	if err := errorPage.Execute(&b, data); err != nil {
		panic(err) // the template and its data are constant
	}
	return b.Bytes()
}
