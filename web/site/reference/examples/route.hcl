route "/" {
  files "pages" { dir = "www" }
}
route "example.org/js/" {
  files "scripts" { dir = "www" }
  compress {}
}
route "POST /form" {
  proxy { upstreams = ["http://127.0.0.1:9000"] }
}
