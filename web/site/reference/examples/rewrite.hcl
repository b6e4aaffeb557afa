rewrite {
  from = "/"
  to   = "/home.html"
}
rewrite "articles" {
  pattern = "/article/([0-9]+)"
  to      = "/article.html?id=$1"
}
rewrite "move" {
  strip_prefix = "/app"
  add_prefix   = "/v2"
}
files { dir = "www" }
