redirect {
  from   = "/old/*"
  to     = "/new/{rest}"
  status = 301
}
redirect "to TLS" { https = true }
files { dir = "www" }
