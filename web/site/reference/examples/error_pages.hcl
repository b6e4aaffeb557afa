error_pages {
  pages = { "404" = "Nothing here.\n", "4xx" = "{status} {reason}\n" }
  files = { "5xx" = "sorry.html" }
  type  = "text/html; charset=utf-8"
  all   = true
}
files { dir = "www" }
