headers {
  set    = { "X-Robots-Tag" = "noindex" }
  add    = { "Vary" = "Accept-Language" }
  delete = ["Server"]
  last   = true

  request_set    = { "X-Site" = "example" }
  request_add    = { "X-Tag" = "a" }
  request_delete = ["Cookie"]
}
files { dir = "www" }
