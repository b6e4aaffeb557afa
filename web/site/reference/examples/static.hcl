route "/robots.txt" {
  static {
    text    = "User-agent: *\nDisallow: /\n"
    type    = "text/plain"
    headers = { "Cache-Control" = "max-age=3600" }
  }
}
route "/teapot" {
  static {
    status = 418
    file   = "sorry.html"
  }
}
